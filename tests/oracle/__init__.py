"""An exact constrained beam search over HF transformers in float32, to hold the runtime to.

It shares no code with the package: its own trie, its own prompts, its own rule of comparison.
"""
