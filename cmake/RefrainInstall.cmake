# What `cmake --install` lays down: the programs, and the torch-free libraries as a CMake package.
#
#   find_package(Refrain REQUIRED)
#   target_link_libraries(mine PRIVATE refrain::ledger refrain::plan)
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

# The folders up to plan/: they need neither LibTorch nor a device.
set(package_folders base config model program ledger cost plan)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Refrain)

set(package_libraries base config_labels config model program ledger cost_program plan)

foreach(library IN LISTS package_libraries)
  install(TARGETS refrain_${library} EXPORT RefrainTargets)
endforeach()
foreach(folder IN LISTS package_folders)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/${folder} DESTINATION include/refrain
          FILES_MATCHING PATTERN "*.h")
endforeach()
install(EXPORT RefrainTargets NAMESPACE refrain:: DESTINATION ${package})
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/RefrainConfig.cmake.in ${PROJECT_BINARY_DIR}/RefrainConfig.cmake
  INSTALL_DESTINATION ${package} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/RefrainConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/RefrainConfig.cmake
              ${PROJECT_BINARY_DIR}/RefrainConfigVersion.cmake DESTINATION ${package})

install(TARGETS refrain)
if(REFRAIN_ENGINE)
  get_filename_component(libtorch_libraries ${LibTorch_CPU_LIBRARY} DIRECTORY)
  set_target_properties(refrain-engine PROPERTIES INSTALL_RPATH ${libtorch_libraries})
  install(TARGETS refrain-engine)
endif()
