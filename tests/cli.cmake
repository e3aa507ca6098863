# Command-line tests: tests/cli/<tool>/<name>.sh, see tests/cli/README.md.
set(AFORE_TOOLS "")
foreach(tool afore-trace afore-plan afore-serve afore-migrate)
  if(TARGET ${tool})
    list(APPEND AFORE_TOOLS ${tool})
  endif()
endforeach()
list(JOIN AFORE_TOOLS " " tools)

file(GLOB cli_tests CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/cli ${CMAKE_CURRENT_SOURCE_DIR}/cli/*/*.sh)
foreach(test ${cli_tests})
  string(REGEX REPLACE "\\.sh$" "" name ${test})
  add_test(NAME cli:${name} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/cli/run_test.sh ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}
                                    ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/cli/${test})
  set_tests_properties(cli:${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300 LABELS cli
                                              ENVIRONMENT "AFORE_TOOLS=${tools}")
endforeach()
