# What runs between clone and "ready" is plain code: it neither throws, nor allocates with `new`, nor takes a lock.
execute_process(COMMAND ${NM} --undefined-only --format=just-symbols ${LIBRARY}
                OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL
       "[^\n]*(_Zn[wa]|_Zd[la]|__cxa_|__gxx_personality|_Unwind_|_ZSt|_ZNSt|_ZNKSt|pthread_(mutex|rwlock|cond)_|mtx_lock)[^\n]*"
       found "${symbols}")
list(REMOVE_DUPLICATES found)
if(found)
  list(JOIN found ", " found)
  message(FATAL_ERROR "${LIBRARY}: code of the helper uses ${found}. See src/helper/CMakeLists.txt for the rule.")
endif()
