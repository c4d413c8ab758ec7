# What the Debian package has beside that which `cmake --install` gives. CPack runs this in between.
# CPACK_BRIG_THIRD_PARTY and SOURCE_DATE_EPOCH are of scripts/package.
set(root ${CPACK_TEMPORARY_DIRECTORY})
set(doc ${root}/usr/share/doc/brig)
set(debian ${CPACK_BRIG_SOURCE_DIR}/packaging/debian)

execute_process(COMMAND date --utc --rfc-email --date=@$ENV{SOURCE_DATE_EPOCH}
                OUTPUT_VARIABLE date OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
set(version ${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})
set(maintainer ${CPACK_PACKAGE_CONTACT})
configure_file(${debian}/changelog.in ${doc}/changelog.Debian @ONLY)
configure_file(${CPACK_BRIG_SOURCE_DIR}/CHANGELOG.md ${doc}/changelog COPYONLY)
configure_file(${debian}/copyright ${doc}/copyright COPYONLY)
configure_file(${debian}/lintian-overrides ${root}/usr/share/lintian/overrides/brig COPYONLY)
file(COPY ${CPACK_BRIG_THIRD_PARTY} DESTINATION ${doc})
# Debian's zsh looks into site-functions below /usr/local alone.
file(MAKE_DIRECTORY ${root}/usr/share/zsh/vendor-completions)
file(RENAME ${root}/usr/share/zsh/site-functions/_brig ${root}/usr/share/zsh/vendor-completions/_brig)
file(REMOVE_RECURSE ${root}/usr/share/zsh/site-functions)
# The linker searches /usr/lib anyway.
execute_process(COMMAND sed -i "s/ -Wl,-rpath,[^ ]*//" ${root}/usr/lib/pkgconfig/brig.pc COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND gzip -9n ${doc}/changelog ${doc}/changelog.Debian ${root}/usr/share/man/man1/brig.1
                COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND chmod -R u=rwX,go=rX ${root} COMMAND_ERROR_IS_FATAL ANY)
