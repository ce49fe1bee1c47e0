package audioloom.bench;

import com.google.protobuf.ByteString;
import java.io.DataOutputStream;
import java.io.Serializable;
import java.util.Iterator;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.VoidFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.tensorflow.example.BytesList;
import org.tensorflow.example.Example;
import org.tensorflow.example.Feature;
import org.tensorflow.example.Features;
import org.tensorflow.example.Int64List;
import org.tensorflow.hadoop.util.TFRecordWriter;

/** What spark-tfrecord does with every row: a feature of each column, an Example, a TFRecord. */
public final class PerRecord implements VoidFunction<Iterator<InternalRow>>, Serializable {
  private final StructField[] fields;
  private final String folder;

  private PerRecord(StructField[] fields, String folder) {
    this.fields = fields;
    this.folder = folder;
  }

  /** Write a file for every partition. */
  public static void write(Dataset<Row> rows, String folder) {
    PerRecord each = new PerRecord(rows.schema().fields(), folder);
    rows.queryExecution().toRdd().toJavaRDD().foreachPartition(each);
  }

  @Override
  public void call(Iterator<InternalRow> rows) throws Exception {
    String name = String.format("part-%05d.tfrecord", TaskContext.getPartitionId());
    Path path = new Path(folder, name);
    try (DataOutputStream out = path.getFileSystem(new Configuration()).create(path, false)) {
      TFRecordWriter writer = new TFRecordWriter(out);
      while (rows.hasNext()) {
        writer.write(example(rows.next()).toByteArray());
      }
    }
  }

  private Example example(InternalRow row) {
    Features.Builder features = Features.newBuilder();
    for (int number = 0; number < fields.length; number++) {
      if (!row.isNullAt(number)) {
        features.putFeature(fields[number].name(), feature(row, number));
      }
    }
    return Example.newBuilder().setFeatures(features.build()).build();
  }

  private Feature feature(InternalRow row, int number) {
    DataType type = fields[number].dataType();
    if (type.equals(DataTypes.BinaryType)) {
      return bytes(ByteString.copyFrom(row.getBinary(number)));
    }
    if (type.equals(DataTypes.StringType)) {
      return bytes(ByteString.copyFrom(row.getUTF8String(number).getBytes()));
    }
    Int64List numbers = Int64List.newBuilder().addValue(row.getInt(number)).build();
    return Feature.newBuilder().setInt64List(numbers).build();
  }

  private static Feature bytes(ByteString value) {
    BytesList values = BytesList.newBuilder().addValue(value).build();
    return Feature.newBuilder().setBytesList(values).build();
  }
}
