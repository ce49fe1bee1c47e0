"""Train a Keras model on audioloom's shards, alone or as one worker of several."""
