# What `cmake --install` puts where, and the Debian package of it (`cpack -G DEB`). Manual pages are made by the tools.
include(GNUInstallDirs)
set(AFORE_TOOLS afore-migrate afore-plan afore-serve afore-trace)

# One page per tool from its parser, and the written ones, compressed: build/<preset>/man. `gzip -n` leaves the time out,
# so that the same sources give the same bytes.
set(man_dir ${CMAKE_BINARY_DIR}/man)
set(man_pages "")
foreach(tool ${AFORE_TOOLS})
  add_custom_command(OUTPUT ${man_dir}/${tool}.1
    COMMAND ${CMAKE_COMMAND} -E make_directory ${man_dir}
    COMMAND $<TARGET_FILE:${tool}> --print-man > ${man_dir}/${tool}.1
    DEPENDS ${tool} VERBATIM)
  list(APPEND man_pages ${man_dir}/${tool}.1)
  install(TARGETS ${tool} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endforeach()
foreach(page afore.1 afore-records.5)
  configure_file(docs/man/${page} ${man_dir}/${page} @ONLY)
  list(APPEND man_pages ${man_dir}/${page})
endforeach()

find_program(AFORE_GZIP gzip REQUIRED)
set(compressed "")
foreach(page ${man_pages})
  add_custom_command(OUTPUT ${page}.gz COMMAND ${AFORE_GZIP} -9nkf ${page} DEPENDS ${page} VERBATIM)
  list(APPEND compressed ${page}.gz)
  string(REGEX REPLACE ".*\\." "" section ${page})
  install(FILES ${page}.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()
set(changelog ${CMAKE_BINARY_DIR}/doc/changelog.gz)
set(changelog_debian ${CMAKE_BINARY_DIR}/doc/changelog.Debian.gz)
add_custom_command(OUTPUT ${changelog}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/doc
  COMMAND sh -c "exec \"$1\" -9nc \"$2\" > \"$3\"" sh ${AFORE_GZIP} ${CMAKE_SOURCE_DIR}/CHANGELOG.md ${changelog}
  DEPENDS ${CMAKE_SOURCE_DIR}/CHANGELOG.md VERBATIM)
configure_file(cmake/debian/changelog.in ${CMAKE_BINARY_DIR}/doc/changelog.Debian @ONLY)
add_custom_command(OUTPUT ${changelog_debian} COMMAND ${AFORE_GZIP} -9nkf ${CMAKE_BINARY_DIR}/doc/changelog.Debian
  DEPENDS ${CMAKE_BINARY_DIR}/doc/changelog.Debian VERBATIM)
# Sanitized tools are not installed, and need not run to be built.
set(in_all ALL)
if(AFORE_SANITIZE)
  set(in_all "")
endif()
add_custom_target(man ${in_all} DEPENDS ${compressed} ${changelog} ${changelog_debian})

# bash and fish load a tool's completions by the tool's name when it is first completed.
foreach(tool ${AFORE_TOOLS})
  install(FILES completions/afore.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME ${tool})
  install(FILES completions/afore.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
          RENAME ${tool}.fish)
endforeach()
install(FILES completions/_afore DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)

# What data_file() looks for beside the tools, and what examples read.
install(DIRECTORY models/tiny DESTINATION ${CMAKE_INSTALL_DATADIR}/afore/models PATTERN golden EXCLUDE)
install(DIRECTORY data/workloads data/tiny-routing data/configs DESTINATION ${CMAKE_INSTALL_DATADIR}/afore/data)
install(FILES README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs FILES_MATCHING
        PATTERN "*.md" PATTERN "*.svg" PATTERN man EXCLUDE)
install(FILES ${changelog} ${changelog_debian} DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES cmake/debian/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES cmake/debian/lintian-overrides DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides RENAME afore)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME afore)
set(CPACK_PACKAGE_VENDOR "The AFORE authors")
set(CPACK_PACKAGE_CONTACT "The AFORE authors <authors@afore.invalid>")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "expert placement for mixture-of-experts serving with AFD")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "jq, man-db, bash-completion")
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "Four Unix tools for teams that serve mixture-of-experts models with
attention and FFN on separate workers: they take the routing of a model,
live or recorded, decide which expert replicas to move before the demand
that needs them arrives, and show what that does to latency and
throughput, simulated or with a real model. All of it is JSON lines
through pipes.")
# libafore.so.0 is found by the loader once its cache is made anew, and by packages that link it.
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_SOURCE_DIR}/cmake/debian/triggers)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
include(CPack)
