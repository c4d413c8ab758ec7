# Test executables. Every test learns where guests, program and examples are from the environment
# (BRIG_GUESTS, BRIG_PROGRAM, BRIG_EXAMPLES), never from a path compiled in: the tree can be copied and run as
# another user.
include(GoogleTest)

# What is tested is sanitized, hardened and optimised in full. For the tests' own files that would be a
# third of all the time that the compiler takes.
add_library(brig_quick_compile INTERFACE)
target_compile_options(brig_quick_compile INTERFACE "SHELL:-O0 -U_FORTIFY_SOURCE")
if(BRIG_SANITIZE)
  target_compile_options(brig_quick_compile INTERFACE -g1 -fno-sanitize=undefined)
endif()

# brig_gtest(target LABEL label SOURCES a_test.cc ... LIBRARIES lib ... [KERNEL_SUITES Suite ...])
# One gtest executable, one ctest test per TEST(). The suites named in KERNEL_SUITES get the label
# `kernel` in place of `label`: they need features of the kernel, not only a compiler.
# No sources, no target: folders come before their tests.
function(brig_gtest target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL;TIMEOUT" "SOURCES;LIBRARIES;KERNEL_SUITES")
  if(NOT arg_SOURCES)
    return()
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_executable(${target} ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE ${arg_LIBRARIES} brig_settings brig_warnings
                                          brig_quick_compile GTest::gtest_main)
  list(TRANSFORM arg_KERNEL_SUITES APPEND ".*" OUTPUT_VARIABLE suites)
  list(JOIN suites ":" kernel_filter)
  if(kernel_filter)
    _brig_discover(${target} kernel ${arg_TIMEOUT} "${kernel_filter}")
    _brig_discover(${target} ${arg_LABEL} ${arg_TIMEOUT} "-${kernel_filter}")
  else()
    _brig_discover(${target} ${arg_LABEL} ${arg_TIMEOUT} "*")
  endif()
endfunction()

# brig_unit_test(folder a_test.cc ... [KERNEL_SUITES Suite ...])
# The tests that stand beside the sources of src/<folder>: the executable <folder>_unit_test.
function(brig_unit_test folder)
  if(NOT BRIG_TESTS)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "KERNEL_SUITES")
  brig_gtest(${folder}_unit_test LABEL unit SOURCES ${arg_UNPARSED_ARGUMENTS}
             LIBRARIES brig_${folder} KERNEL_SUITES ${arg_KERNEL_SUITES})

  # An explicit list can forget a file, and a forgotten test passes for ever.
  file(GLOB on_disk RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS *_test.cc)
  list(REMOVE_ITEM on_disk ${arg_UNPARSED_ARGUMENTS})
  if(on_disk)
    message(WARNING "src/${folder}: not in brig_unit_test: ${on_disk}")
  endif()
endfunction()

# PRE_TEST: a build never runs what it built. TEST_LIST and the second include file are the one way
# to give discovered tests a property that is a list.
function(_brig_discover target label timeout filter)
  set(list_name ${target}_${label}_tests)
  gtest_discover_tests(${target} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
    TEST_FILTER "${filter}" TEST_LIST ${list_name}
    PROPERTIES LABELS ${label} TIMEOUT ${timeout})
  set(properties_file ${CMAKE_CURRENT_BINARY_DIR}/${list_name}.cmake)
  file(WRITE ${properties_file} "
if(${list_name})
  set_tests_properties(\${${list_name}} PROPERTIES ENVIRONMENT
    \"BRIG_GUESTS=${CMAKE_BINARY_DIR}/guests;BRIG_PROGRAM=${CMAKE_BINARY_DIR}/bin/brig;BRIG_EXAMPLES=${PROJECT_SOURCE_DIR}/examples\")
endif()
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${properties_file})
endfunction()
