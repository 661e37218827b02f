"""One level of beam search: scan the rows, choose the survivors, order them."""
