"""The options of callbacks, for options_walk.py."""
from option_case import AMP, Case, HALF, SPEED, TRAIN, spec

# Options of a loss scale with which it grows or overflows within a few steps.
SCALING = {"growth_interval": "1", "growth_factor": "4,growth_interval=1", "backoff_factor": "0.25,loss_scale=1e7",
           "floor": "65536,growth_interval=1", "ceiling": "65536,growth_interval=1"}


def max_skips(callback):
    """Where every step is skipped."""
    always = f"{callback}:dynamic=false,loss_scale=1e30"
    precision = AMP if callback.startswith("native") else HALF
    return Case([*TRAIN, *precision, "--callbacks", always], ["--callbacks", f"{always},max_skips=1"])


def callback(text, *more, **how):
    return spec("--callbacks", text, *more, **how)


SETTINGS = {
    "callback blame": {"limit": callback("blame:limit=1", *HALF, "--inject", "nan@2-4:linear")},
    "callback checkpointer": {
        "folder": callback("checkpointer:folder=there"),
        "last": callback("checkpointer:last=false"),
        "best": callback("checkpointer:best=false"),
        "every": callback("checkpointer:every=1"),
        "monitor": callback("checkpointer:monitor=train_loss"),
        "mode": callback("checkpointer:mode=max", "--monitor", "train_loss"),
        "min_delta": callback("checkpointer:min_delta=9", "--monitor", "train_loss"),
    },
    "callback metrics_log": {"path": callback("metrics_log:path=there.jsonl"), "every": callback("metrics_log:every=2")},
    "callback csv_logger": {"path": callback("csv_logger:path=there.csv")},
    "callback cuda_graph": {"warm_up": callback("cuda_graph:warm_up=9", same="there is no graph without a GPU")},
    "callback early_stopping": {
        "monitor": callback("early_stopping:monitor=train_loss", "-e", "5", "--monitor", "accuracy", "--lr", "0.9"),
        "patience": Case([*TRAIN, "-e", "5", "--callbacks", "early_stopping:monitor=train_loss,mode=max"],
                         ["--callbacks", "early_stopping:monitor=train_loss,mode=max,patience=3"]),
        "min_delta": callback("early_stopping:min_delta=9", "-e", "5", "--monitor", "train_loss"),
        "mode": callback("early_stopping:mode=max", "-e", "5", "--monitor", "train_loss"),
    },
    "callback ema": {
        "decay": callback("ema:decay=0.3"),
        "warmup": callback("ema:warmup=false"),
        "evaluate": callback("ema:evaluate=false"),
    },
    "callback whitening": {
        option: Case([*TRAIN, "--model", "airbench94", "--callbacks", "whitening"], ["--callbacks", f"whitening:{option}={value}"],
                     same="no other layer can whiten" if option == "layer" else "")
        for option, value in {"layer": "whiten", "samples": "16", "eps": "0.1", "bias_epochs": "1"}.items()
    },
    "callback tta": {"views": callback("tta:views=shift")},
    "callback mix": {
        "mixup": callback("mix:mixup=2"),
        "cutmix": callback("mix:cutmix=0"),
        "p": callback("mix:p=0.5"),
        "plain_epochs": callback("mix:plain_epochs=1", "-e", "2"),
    },
    "callback progressive_resizing": {
        "scale": callback("progressive_resizing:scale=0.5"),
        "first": callback("progressive_resizing:first=0.5"),
        "last": callback("progressive_resizing:last=0.5"),
        "multiple": callback("progressive_resizing:multiple=10"),
    },
    "callback gradual_unfreezing": {
        "frozen": callback("gradual_unfreezing:frozen=2", "-e", "2", "--split", "auto"),
        "every": callback("gradual_unfreezing:every=1", "-e", "2", "--split", "auto"),
        "train_bn": callback("gradual_unfreezing:train_bn=false", "-e", "2", "--split", "auto"),
    },
    "callback gradient_accumulation": {
        "batches": Case(TRAIN, ["--callbacks", "gradient_accumulation:batches=2"]),
        "samples": Case(TRAIN, ["--callbacks", "gradient_accumulation:samples=32"]),
    },
    "callback gradient_clip": {
        "limit": callback("gradient_clip:limit=0.01"),
        "by": callback("gradient_clip:by=value"),
    },
    "callback inject": {"faults": Case(TRAIN, ["--callbacks", "inject:faults=(spike@2:9,slow@3:1ms)"])},
    "callback mixed_precision": {
        "dtype": callback("mixed_precision:dtype=bf16 --precision bf16", *HALF),
        "loss_scale": callback("mixed_precision:loss_scale=64", *HALF),
        "dynamic": callback("mixed_precision:dynamic=false", *HALF),
        **{option: callback(f"mixed_precision:{option}={value}", *HALF) for option, value in SCALING.items()},
        "hysteresis": callback("mixed_precision:hysteresis=9,loss_scale=1e7", *HALF),
        "max_skips": max_skips("mixed_precision"),
        "flat_master": callback("mixed_precision:flat_master=false", *HALF, same=SPEED),
    },
    "callback pure_half": {
        "dtype": callback("pure_half:dtype=bf16 --precision pure-bf16", "--precision", "pure-fp16"),
    },
    "callback native_mixed_precision": {
        "dtype": callback("native_mixed_precision:dtype=bf16 --precision bf16-amp", *AMP),
        "loss_scale": callback("native_mixed_precision:loss_scale=64", *AMP),
        "dynamic": callback("native_mixed_precision:dynamic=false", *AMP),
        **{option: callback(f"native_mixed_precision:{option}={value}", *AMP) for option, value in SCALING.items()},
        "hysteresis": callback("native_mixed_precision:hysteresis=9,loss_scale=1e7", *AMP),
        "max_skips": max_skips("native_mixed_precision"),
    },
    "callback param_scheduler": {
        "hyper": Case([*TRAIN, "--callbacks", "param_scheduler:hyper=weight_decay"],
                      ["--callbacks", "param_scheduler:hyper=eps"]),
        "value": Case([*TRAIN, "--callbacks", "param_scheduler:hyper=weight_decay"],
                      ["--callbacks", "param_scheduler:hyper=weight_decay,value=0.1"]),
        "schedule": Case([*TRAIN, "--callbacks", "param_scheduler:hyper=weight_decay"],
                         ["--callbacks", "param_scheduler:hyper=weight_decay,schedule=(cosine:end=0.5)"]),
        "clock": Case([*TRAIN, "--accumulate", "2", "--callbacks", "param_scheduler:hyper=weight_decay"],
                      ["--callbacks", "param_scheduler:hyper=weight_decay,clock=step"]),
    },
    "callback plot_results": {
        "folder": callback("plot_results:folder=there"),
        "title": callback("plot_results:title=other"),
    },
    "callback progress": {
        "live": callback("progress:live=lines", "--train-limit", "800", terminal=True),
        "heartbeat": callback("progress:heartbeat=1e-9"),
    },
    "callback tensorboard": {
        name: callback(f"tensorboard:{name}={value}")
        for name, value in {"path": "there", "every": "2", "histograms": "0", "images": "0"}.items()},
    "callback recorder": {"beta": callback("recorder:beta=0.1")},
}
