"""Checkpoints: configuration, weights, tokens and the decoder written over the runtime's ops."""
