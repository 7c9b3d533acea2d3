// Writes a file to standard output, read by an ifstream: `ifstream PATH`.
#include <fstream>
#include <iostream>

int main(int count, char **arguments) {
  if (count != 2) return 2;
  std::ifstream file(arguments[1], std::ios::binary);
  std::cout << file.rdbuf();
  return !file || !std::cout;
}
