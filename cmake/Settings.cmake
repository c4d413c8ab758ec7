# Two INTERFACE targets that every target of ours links: brig_settings (how it is compiled) and
# brig_warnings (what the compiler complains about). Nothing is set globally, because brig-helper
# must stay free of sanitizers whatever the rest is built with.

# Everything may end up in libbrig.so, and programs are position independent where not static.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
include(CheckPIESupported)
check_pie_supported()

# Most of a file's time goes to the headers that it shares with its neighbours. That each file also stands
# alone is what `make fuzz` shows, which compiles them one by one.
if(BRIG_UNITY)
  set(CMAKE_UNITY_BUILD ON)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 6)
endif()

add_library(brig_settings INTERFACE)
target_compile_features(brig_settings INTERFACE cxx_std_20)
set(CMAKE_CXX_EXTENSIONS OFF)
target_include_directories(brig_settings INTERFACE ${PROJECT_SOURCE_DIR}/include
                                                   ${PROJECT_SOURCE_DIR}/src)
# Linux is the only target; clone3, memfd and friends hide behind this.
target_compile_definitions(brig_settings INTERFACE _GNU_SOURCE)
# A profile or a crash of a supervisor without frames is worth little; the cost is under 1 %.
target_compile_options(brig_settings INTERFACE -fno-omit-frame-pointer)
target_link_libraries(brig_settings INTERFACE Threads::Threads)

add_library(brig_warnings INTERFACE)
target_compile_options(brig_warnings INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wformat=2 -Wundef
  # Designated initialisers leave the rest at its default on purpose.
  -Wno-missing-field-initializers>
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Woverloaded-virtual -Wextra-semi>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # False alarms of g++ 12: std::string's operator+ (its bug 105651), and code that sanitizers add.
  target_compile_options(brig_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>
    $<$<BOOL:${BRIG_SANITIZE}>:-Wno-maybe-uninitialized>)
endif()
if(BRIG_WERROR)
  target_compile_options(brig_warnings INTERFACE -Werror)
endif()

if(BRIG_SANITIZE)
  if(BRIG_STATIC_PROGRAM)
    message(FATAL_ERROR "BRIG_STATIC_PROGRAM: the sanitizers have no static runtime for it")
  endif()
  list(JOIN BRIG_SANITIZE "," sanitizers)
  # Not vptr: it asks through a pipe whether memory can be read, and cries wolf when there is no
  # descriptor left for one, which is what a test is about.
  target_compile_options(brig_settings INTERFACE -fsanitize=${sanitizers} -fno-sanitize=vptr
                                                 -fno-sanitize-recover=all)
  target_link_options(brig_settings INTERFACE -fsanitize=${sanitizers})
endif()

# brig-helper takes these too, so they are a target of their own.
add_library(brig_hardening INTERFACE)
if(BRIG_HARDEN)
  # -U first: some distributions' compilers define another level, and warn.
  target_compile_options(brig_hardening INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
                                                  -fstack-protector-strong)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    target_compile_options(brig_hardening INTERFACE -fcf-protection)
  endif()
  target_link_options(brig_hardening INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack)
endif()
target_link_libraries(brig_settings INTERFACE brig_hardening)
