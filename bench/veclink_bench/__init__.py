"""The laboratory of veclink: corpora, encoders, rivals, experiments and speed. Not part of the product."""
