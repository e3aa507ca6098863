# Half of what a source takes to compile is the standard library's headers: with AFORE_PRECOMPILE they are read once per
# kind of target. Sources include what they use all the same; preset dev and clang-tidy see to that.
option(AFORE_PRECOMPILE "Read the standard library's headers once for all sources" OFF)

set(AFORE_STANDARD_HEADERS <algorithm> <array> <chrono> <cmath> <cstdint> <deque> <fmt/format.h> <functional> <map>
  <memory> <optional> <span> <string> <string_view> <utility> <vector>)

# afore_precompiled(NAME HEADER...): what targets share their headers from.
function(afore_precompiled name)
  file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/${name}.cc CONTENT "// All of it is its headers.\n")
  add_library(${name} OBJECT ${CMAKE_BINARY_DIR}/${name}.cc)
  target_link_libraries(${name} PRIVATE fmt::fmt)
  target_precompile_headers(${name} PRIVATE ${ARGN})
endfunction()

if(AFORE_PRECOMPILE)
  if(AFORE_CCACHE)
    # ccache asks for these where headers are precompiled; its own words on them are in its manual.
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${AFORE_CCACHE})
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  endif()
  afore_precompiled(afore_headers ${AFORE_STANDARD_HEADERS})
  # Code for shared libraries needs headers of its own.
  afore_precompiled(afore_headers_pic ${AFORE_STANDARD_HEADERS})
  set_target_properties(afore_headers_pic PROPERTIES
    POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endif()

# afore_precompile(TARGET FROM)
function(afore_precompile target from)
  if(AFORE_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM ${from})
  endif()
endfunction()

# Rooms and tools compile eight sources at a time, which halves the time of a whole build. So no two sources of a room
# have helpers of one name.
option(AFORE_UNITY "Compile the sources of a room eight at a time" OFF)

function(afore_unity target)
  if(AFORE_UNITY)
    # The warning is meant for headers, and takes each of the eight for one.
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON)
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
endfunction()
