"""Merge of attention parts by online softmax."""
