// What code of the helper must not do, one habit in each object: cmake/CheckHelper.cmake has to find it.
#include <dirent.h>
#include <pthread.h>
#include <stdlib.h>

void* habit() {
#if defined HABIT_NEW
  return new int;
#elif defined HABIT_THROW
  throw 1;
#elif defined HABIT_LOCK
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  return &mutex;
#elif defined HABIT_MALLOC
  return malloc(1);
#elif defined HABIT_OPENDIR
  return opendir("/");
#else
  exit(1);
#endif
}
