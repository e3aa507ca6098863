# libafore.so: lib/c/afore.h over the planner, for programs that are not ours. Only afore_* is visible.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(AFORE_EXPORTS ${CMAKE_SOURCE_DIR}/lib/c/exports.map)
file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/library_source.cc CONTENT "// All of the library is in its rooms.\n")
add_library(afore_shared SHARED ${CMAKE_BINARY_DIR}/library_source.cc)
add_library(afore::afore ALIAS afore_shared)
set_target_properties(afore_shared PROPERTIES
  OUTPUT_NAME afore EXPORT_NAME afore VERSION ${PROJECT_VERSION} SOVERSION 0
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib LINK_DEPENDS ${AFORE_EXPORTS})
target_link_libraries(afore_shared PRIVATE "$<BUILD_INTERFACE:$<LINK_LIBRARY:WHOLE_ARCHIVE,afore_c>>")
target_include_directories(afore_shared INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/lib/c>
                                                  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
# --as-needed: the planner uses a small part of what its rooms link.
target_link_options(afore_shared PRIVATE -Wl,--version-script=${AFORE_EXPORTS} -Wl,--as-needed -Wl,--gc-sections)

install(TARGETS afore_shared EXPORT afore LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
install(FILES lib/c/afore.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library)
install(FILES lib/c/python/afore.py lib/c/python/plan_from_python.py DESTINATION share/afore/python COMPONENT library)
set(AFORE_PACKAGE ${CMAKE_INSTALL_LIBDIR}/cmake/afore)
install(EXPORT afore NAMESPACE afore:: FILE afore-config.cmake DESTINATION ${AFORE_PACKAGE} COMPONENT library)
# Before 1.0 a minor version may change the interface (docs/embedding.md).
write_basic_package_version_file(afore-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/afore-config-version.cmake DESTINATION ${AFORE_PACKAGE} COMPONENT library)
# ${pcfiledir} is where afore.pc lies: a prefix that is moved stays right.
file(RELATIVE_PATH AFORE_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/afore.pc.in afore.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/afore.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT library)
