# The CUDA backend arrives with its first kernels.
