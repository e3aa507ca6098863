#!/usr/bin/env bash
# What synth refuses.
try() {
  afore-trace synth "$@" 2>&1
  echo "= $?"
}
try --model mixtral-8x7b
try --model mixtral --tokens 3
try --model mixtral-8x7b --tokens 3 --skew -1
try --model mixtral-8x7b --tokens 3 --skew nan
try --model mixtral-8x7b --tokens 3 --drift 1.5
try --model mixtral-8x7b --tokens 3 --layers 31-32
try --model mixtral-8x7b --tokens 0
