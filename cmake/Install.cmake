# `cmake --install`: headers, libbrig.so, the program, the Python package, and what finds them.
include(CMakePackageConfigHelpers)

install(DIRECTORY include/brig TYPE INCLUDE FILES_MATCHING PATTERN "*.h")
install(TARGETS brig EXPORT brigTargets)
install(TARGETS brig_program)
install(TARGETS brig_server DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/brig)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/brig)
install(EXPORT brigTargets NAMESPACE brig:: DESTINATION ${package_dir})
configure_package_config_file(cmake/brigConfig.cmake.in brigConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may break: 0.1 does not promise 0.2.
write_basic_package_version_file(brigConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/brigConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/brigConfigVersion.cmake DESTINATION ${package_dir})

# Relative to the .pc file: `cmake --install --prefix` decides the prefix after this ran.
file(RELATIVE_PATH pc_to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/brig.pc.in brig.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/brig.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# The Python package goes where the system's python3 looks below the prefix: Debian's looks at
# /usr/local/lib/python3.11/dist-packages and /usr/lib/python3/dist-packages. Below any other prefix it is
# lib/python3/dist-packages, for PYTHONPATH. Asked when installing: the prefix is not known before.
install(CODE [[
  set(brig_python_dir lib/python3/dist-packages)
  execute_process(COMMAND /usr/bin/python3 -c "import site; print(';'.join(site.getsitepackages()))"
                  OUTPUT_VARIABLE site_packages OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  foreach(dir IN LISTS site_packages)
    cmake_path(RELATIVE_PATH dir BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}")
    if(dir MATCHES "^lib/")
      set(brig_python_dir "${dir}")
      break()
    endif()
  endforeach()
]])
include(${PROJECT_SOURCE_DIR}/python/files.cmake)  # sets brig_python_files
foreach(file IN LISTS brig_python_files)
  cmake_path(GET file PARENT_PATH folder)
  install(FILES python/${file} DESTINATION "\${brig_python_dir}/${folder}")
endforeach()

# OPTIONAL: installed once they exist.
set(share ${CMAKE_INSTALL_DATADIR})
install(FILES completions/brig.bash DESTINATION ${share}/bash-completion/completions RENAME brig
        OPTIONAL)
install(FILES completions/_brig DESTINATION ${share}/zsh/site-functions OPTIONAL)
install(FILES completions/brig.fish DESTINATION ${share}/fish/vendor_completions.d OPTIONAL)
# The prefix is not known before the installation.
install(CODE "
  configure_file(\"${PROJECT_SOURCE_DIR}/packaging/brig.service.in\"
                 \"${CMAKE_CURRENT_BINARY_DIR}/brig.service\" @ONLY)")
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/brig.service packaging/brig.socket
        DESTINATION lib/systemd/system)
install(FILES packaging/root.conf DESTINATION ${CMAKE_INSTALL_DOCDIR})
# For whoever makes a package: in its place, where the package's scripts load it. Else the operator copies it.
option(BRIG_APPARMOR "Install the AppArmor profile to /etc/apparmor.d, too" OFF)
install(CODE "
  configure_file(\"${PROJECT_SOURCE_DIR}/packaging/apparmor/brig.in\"
                 \"${CMAKE_CURRENT_BINARY_DIR}/apparmor/brig\" @ONLY)")
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/apparmor/brig DESTINATION ${CMAKE_INSTALL_DOCDIR}/apparmor)
if(BRIG_APPARMOR)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/apparmor/brig DESTINATION /etc/apparmor.d)
endif()
install(FILES docs/brig.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 OPTIONAL)
