/* Writes a file to standard output, opened in one of two ways: `reads fopen|syscall PATH`. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int count, char **arguments) {
  if (count != 3) return 2;
  FILE *file = strcmp(arguments[1], "fopen") == 0
                   ? fopen(arguments[2], "r")
                   : fdopen((int)syscall(SYS_openat, AT_FDCWD, arguments[2], O_RDONLY), "r");
  if (file == NULL) return 1;
  char bytes[65536];
  for (size_t n; (n = fread(bytes, 1, sizeof bytes, file)) > 0;)
    if (fwrite(bytes, 1, n, stdout) != n) return 1;
  return ferror(file) || fclose(file) != 0;
}
