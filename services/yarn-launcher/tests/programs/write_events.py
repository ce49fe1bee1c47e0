"""Writes an events file for TensorBoard with one scalar: write_events.py FOLDER STEP VALUE."""

import sys

from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.summary.writer.event_file_writer import EventFileWriter


def main() -> None:
    folder, step, value = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    writer = EventFileWriter(folder)
    summary = summary_pb2.Summary(value=[summary_pb2.Summary.Value(tag="loss", simple_value=value)])
    writer.add_event(event_pb2.Event(wall_time=step, step=step, summary=summary))
    writer.close()


if __name__ == "__main__":
    main()
