# lib/c: the interface from inside (c_test), and from outside, through libafore.so alone.
enable_language(C)
afore_room_tests(c afore_wire afore_placement)
if(TARGET c_test)
  target_compile_definitions(c_test PRIVATE AFORE_BIN="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
  add_dependencies(c_test afore-trace afore-plan)  # it compares with what they write
endif()

add_executable(c_abi c/abi.c)
set_target_properties(c_abi PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
target_compile_options(c_abi PRIVATE -Wall -Wextra -pedantic -Werror)
target_link_libraries(c_abi PRIVATE afore::afore)
add_test(NAME c:abi COMMAND c_abi)

if(AFORE_SANITIZE)
  set(sanitize -fsanitize=${AFORE_SANITIZE})
endif()
add_test(NAME c:install COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/c/install.sh ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}
                                ${CMAKE_COMMAND} ${CMAKE_C_COMPILER} ${sanitize})
add_test(NAME c:symbols COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/c/symbols.sh $<TARGET_FILE:afore_shared>
                                ${CMAKE_CURRENT_SOURCE_DIR}/c/symbols.txt ${CMAKE_SOURCE_DIR}/lib/c/afore.h)
if(NOT AFORE_SANITIZE)  # python3 itself is not built with one
  add_test(NAME c:python COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/c/python.sh ${CMAKE_SOURCE_DIR}
                                 $<TARGET_FILE:afore_shared> ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
  set_tests_properties(c:python PROPERTIES SKIP_RETURN_CODE 77)
endif()
