# The CUDA device, twice: as a plugin over the CUDA runtime, and over its stand-in on the CPU (kernels/shim), for
# machines and tests without a GPU. Only nn, util, core and what of device both sides share goes in.
set(AFORE_CUDA_DEVICE attention_worker.cc buffer.cc check.cc device.cc engine_route.cc expert_worker.cc gpus.cc lane.cc
  parcel.cc partial_sums.cc partitions.cc plugin.cc shapes.cc start_gate.cc step.cc topology.cc transfer_event.cc
  transfer_ffn.cc transfers.cc uploader.cc weights.cc)

# Targets afore_<name> (static) and the plugin libafore_<name>.so of it.
function(afore_cuda_device name kernels)
  add_library(afore_${name} STATIC ${AFORE_CUDA_DEVICE})
  target_link_libraries(afore_${name} PUBLIC afore_device ${kernels})
  set_target_properties(afore_${name} PROPERTIES
    POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  set(exports ${CMAKE_CURRENT_SOURCE_DIR}/plugin.map)
  file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${name}_plugin.cc CONTENT "// All of the plugin is in its rooms.\n")
  add_library(afore_${name}_plugin SHARED ${CMAKE_CURRENT_BINARY_DIR}/${name}_plugin.cc)
  set_target_properties(afore_${name}_plugin PROPERTIES
    OUTPUT_NAME afore_${name} LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib LINK_DEPENDS ${exports})
  target_link_libraries(afore_${name}_plugin PRIVATE "$<LINK_LIBRARY:WHOLE_ARCHIVE,afore_${name}>")
  target_link_options(afore_${name}_plugin PRIVATE -Wl,--version-script=${exports} -Wl,--as-needed -Wl,--gc-sections)
  if(NOT AFORE_SANITIZE)  # a sanitizer's functions are the program's
    target_link_options(afore_${name}_plugin PRIVATE -Wl,-z,defs)
  endif()
endfunction()

# The stand-in's NCCL has sends and receives alone: FFN workers return partial outputs to the attention worker's GPU.
afore_cuda_device(cuda_shim afore_kernels_shim)
target_sources(afore_cuda_shim PRIVATE nccl_ranks.cc nccl_route.cc)
target_compile_definitions(afore_cuda_shim PRIVATE AFORE_HAVE_NCCL_COPIES)
target_link_libraries(afore_cuda_shim PUBLIC afore_cuda_net)
if(AFORE_HAVE_CUDA)
  afore_cuda_device(cuda afore_kernels_cuda)
  if(TARGET afore_cuda_nccl)  # else FFN workers return partial outputs to the attention worker's GPU
    target_sources(afore_cuda PRIVATE nccl_route.cc)
    target_compile_definitions(afore_cuda PRIVATE AFORE_HAVE_NCCL AFORE_HAVE_NCCL_COPIES)
    target_link_libraries(afore_cuda PUBLIC afore_cuda_nccl)
  endif()
  # Where tools look for it. Not in packages: what it links is not in Debian.
  install(TARGETS afore_cuda_plugin LIBRARY DESTINATION lib/afore COMPONENT cuda EXCLUDE_FROM_ALL)
endif()
