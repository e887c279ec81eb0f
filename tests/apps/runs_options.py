"""Effects of the options of `learn runs`, for options_walk.py."""
from option_case import Case, TRAIN

# With one run there is no order to be seen; runs_test.cpp has several.
RUNS = {
    "out": Case(["runs"], ["--out", "there"], before=TRAIN),
    "sort": Case(["runs"], ["--sort", "valid_loss"], before=TRAIN, hidden=True),
    "reverse": Case(["runs"], ["--reverse"], before=TRAIN, hidden=True),
    "status": Case(["runs"], ["--status", "crashed"], before=TRAIN),
    "wide": Case(["runs"], ["--wide"], before=TRAIN),
    "csv": Case(["runs"], ["--csv"], before=TRAIN),
    "json": Case(["runs"], ["--json"], before=TRAIN),
    "remove": Case(["runs", "t"], ["--remove"], before=TRAIN),
    "yes": Case(["runs", "t", "--remove"], ["--yes"], before=TRAIN),
}
