# GPUs: what needs one is skipped where there is none (exit 77). With the stand-in in its place the same programs, and the
# script that runs them all, work everywhere.
function(afore_gpu_test name program)
  add_test(NAME gpu:${name} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/gpu/${name}.sh $<TARGET_FILE:${program}>)
  set_tests_properties(gpu:${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300 LABELS gpu-check)
endfunction()

if(AFORE_HAVE_CUDA)
  add_test(NAME gpu:check COMMAND gpu_check)
  set_tests_properties(gpu:check PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600 LABELS gpu)
endif()
afore_gpu_test(report gpu_report)
if(NOT AFORE_SANITIZE MATCHES thread)  # fibers
  afore_gpu_test(stand_in gpu_check_shim)
endif()
if(NOT AFORE_SANITIZE)  # minutes
  add_test(NAME gpu-check:stand-in COMMAND ${CMAKE_SOURCE_DIR}/scripts/gpu-check --stand-in --use ${CMAKE_BINARY_DIR})
  set_tests_properties(gpu-check:stand-in PROPERTIES TIMEOUT 600 LABELS gpu-check)
endif()
