# The Debian package, by CPack. `make package` runs it, and makes a wheel and a tarball of the same build.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME brig)
set(CPACK_PACKAGE_VENDOR brig)
if(NOT CPACK_PACKAGE_CONTACT)
  set(CPACK_PACKAGE_CONTACT "brig maintainers <maintainers@brig.example>")
endif()
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_DESCRIPTION
"brig runs a command or a tool in a cell of its own: one call, one process
tree, one set of limits, with no network and no file of yours unless a policy
lists it. The report of a call says what happened, what was refused, and why.
.
This package has the program, the server (MCP and HTTP), the C++ library with
its headers, and the Python package.")

# With DESTDIR: what holds the prefix (the units, the AppArmor profile) must name /usr, and not the folder in which CPack
# collects the files.
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/PackageFiles.cmake)
set(CPACK_BRIG_SOURCE_DIR ${PROJECT_SOURCE_DIR})

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Before 1.0 a minor version may break, and has the same SONAME: who links the library needs this very version.
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY =)
# The library's headers include nlohmann's, and run_python needs an interpreter.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "nlohmann-json3-dev (>= 3.11), python3 (>= 3.9)")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "apparmor, g++ (>= 4:12), pkg-config")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA "")
foreach(file IN ITEMS postinst prerm postrm triggers)
  list(APPEND CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/packaging/debian/${file})
endforeach()
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

include(CPack)
