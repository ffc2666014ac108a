// Asio's own code, compiled once (BOOST_ASIO_SEPARATE_COMPILATION).
#pragma clang diagnostic ignored "-Wconversion"
#include <boost/asio/impl/src.hpp>
