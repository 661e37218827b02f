"""Build the operators on emulated kernels and print where they are: python -m tests.ascend.glue."""

from tests.ascend.glue.library import built

if __name__ == "__main__":
    print(built())
