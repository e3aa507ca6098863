# The Debian package in a clean system: tests/package/smoke.sh. Exit 77 = no root, or no network.
if(NOT AFORE_SANITIZE)  # nobody packages a build with sanitizers
  add_test(NAME package:smoke COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/package/smoke.sh ${CMAKE_SOURCE_DIR}
                                      ${CMAKE_BINARY_DIR})
  set_tests_properties(package:smoke PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 900 LABELS package)
endif()
