#pragma once
/// Every layer, for programs that build models.
#include "framework/nn/layers/activation.h"
#include "framework/nn/layers/batch_norm.h"
#include "framework/nn/layers/conv2d.h"
#include "framework/nn/layers/conv_bn_act.h"
#include "framework/nn/layers/dropout.h"
#include "framework/nn/layers/flatten.h"
#include "framework/nn/layers/layer_norm.h"
#include "framework/nn/layers/linear.h"
#include "framework/nn/layers/pool.h"
#include "framework/nn/layers/residual.h"
#include "framework/nn/layers/rms_norm.h"
#include "framework/nn/layers/sequential.h"
