# What the programs that brig carries inside itself are made with.

# brig_carry(target source symbol program): `target` carries the bytes of `program` (a target, or a file that is made) as
# `symbol`_begin to `symbol`_end, by the assembler file `source`.
function(brig_carry target source symbol program)
  if(TARGET ${program})
    set(file $<TARGET_FILE:${program}>)
    add_dependencies(${target} ${program})
    get_target_property(kind ${program} TYPE)
    if(kind STREQUAL "EXECUTABLE")
      get_target_property(folder ${program} RUNTIME_OUTPUT_DIRECTORY)
      set(file ${folder}/${program})
    else()
      get_target_property(folder ${program} LIBRARY_OUTPUT_DIRECTORY)
      set(file ${folder}/${program}.so)
    endif()
  else()
    set(file ${program})
  endif()
  set_source_files_properties(${source} PROPERTIES
    COMPILE_DEFINITIONS "BRIG_IMAGE=${symbol};BRIG_IMAGE_FILE=\"${file}\""
    OBJECT_DEPENDS ${file})
endfunction()

# brig_take_sources(target from FILE...): compiles these sources of another folder's library anew, for `target`, which must not
# have the sanitizer that the library has.
function(brig_take_sources target from)
  get_target_property(folder ${from} SOURCE_DIR)
  list(TRANSFORM ARGN PREPEND ${folder}/)
  target_sources(${target} PRIVATE ${ARGN})
endfunction()

# brig_check_helper(target): fails the build if an object of that target throws, allocates, or takes a lock. Only the files that
# may read directories are compiled alone, so that the check can tell their objects.
function(brig_check_helper target)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/helper/clean_up.cc ${PROJECT_SOURCE_DIR}/src/os/threads.cc
                              TARGET_DIRECTORY ${target} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  add_custom_command(TARGET ${target} POST_BUILD
    COMMAND ${CMAKE_COMMAND} -DNM=${CMAKE_NM} "-DOBJECTS=$<TARGET_OBJECTS:${target}>"
            -P ${PROJECT_SOURCE_DIR}/cmake/CheckHelper.cmake
    VERBATIM)
endfunction()
