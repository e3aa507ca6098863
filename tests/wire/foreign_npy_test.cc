#include "foreign_test_util.h"
#include "wire/foreign/npy.h"
#include "wire/foreign/vllm_npy.h"

namespace afore::wire {
namespace {

using Values = std::vector<std::int64_t>;
using Bytes = std::vector<std::uint8_t>;

std::string npy_error(const Bytes& bytes) {
  return error_of([&] { parse_npy(bytes, "a.npy"); });
}

// A version 1 file of the header's text and `data` zero bytes.
Bytes npy(const std::string& header, std::size_t data) {
  const std::string text = "\x93NUMPY\1" + std::string{0, static_cast<char>(header.size()), 0} + header;
  Bytes out(text.begin(), text.end());
  out.resize(out.size() + data);
  return out;
}

TEST(Npy, Orders) {
  const NpyArray c = parse_npy(fixture("c_i4.npy"), "a.npy"), fortran = parse_npy(fixture("fortran_i8.npy"), "a.npy");
  EXPECT_EQ(c.shape, (Values{2, 3, 4}));
  EXPECT_EQ(c.values, numbers(24));
  EXPECT_EQ(fortran.shape, c.shape);
  EXPECT_EQ(fortran.values, c.values);
}

TEST(Npy, DtypesAndVersions) {
  for (const char* name : {"u1", "i1", "u2", "i2", "u4", "u8", "f2", "f4", "f8"})
    EXPECT_EQ(parse_npy(fixture(std::string("dtype_") + name + ".npy"), "a.npy").values, numbers(6)) << name;
  EXPECT_EQ(parse_npy(fixture("dtype_b1.npy"), "a.npy").values, (Values{0, 1, 1, 1, 1, 1}));
  for (const char* name : {"v2.npy", "v3.npy"}) EXPECT_EQ(parse_npy(fixture(name), name).values, numbers(6)) << name;
  EXPECT_EQ(parse_npy(fixture("one.npy"), "a.npy").shape, (Values{3}));
  EXPECT_TRUE(parse_npy(fixture("scalar.npy"), "a.npy").shape.empty());
  EXPECT_EQ(parse_npy(fixture("scalar.npy"), "a.npy").values, (Values{7}));
  EXPECT_EQ(parse_npy(fixture("empty.npy"), "a.npy").shape, (Values{0, 3}));
}

TEST(Npy, Refused) {
  EXPECT_EQ(npy_error(fixture("big_endian.npy")),
            "a.npy: header: dtype \">i4\" is not read | write it with .astype('<i4') or .astype('<i8')");
  EXPECT_EQ(npy_error(fixture("record.npy")),
            "a.npy: header: the array is one of records | write each column as an array of its own");
  EXPECT_EQ(npy_error(fixture("half.npy")), "a.npy: element 1 is no whole number");
  EXPECT_EQ(npy_error(fixture("sglang_map.pt")), "a.npy: is no .npy file");
  expect_prefixes_refused(fixture("c_i4.npy"), [](const Bytes& cut) { parse_npy(cut, "a.npy"); });
  Bytes longer = fixture("c_i4.npy");
  longer.push_back(0);
  EXPECT_EQ(npy_error(longer), "a.npy: [2, 3, 4] of int32 needs 96 bytes, 97 are there");
  EXPECT_EQ(parse_npy(fixture("c_i4.npy"), "a.npy", 24).values.size(), 24u);
  EXPECT_EQ(error_of([] { parse_npy(fixture("c_i4.npy"), "a.npy", 23); }),
            "a.npy: the shape [2, 3, 4] has more than 23 cells");
}

TEST(Npy, Header) {
  EXPECT_EQ(npy_error(npy("{'descr':'<i4','fortran_order':False,'shape':(2,)}", 8)), "no error");
  EXPECT_EQ(npy_error(npy("{\"shape\": (1, 2,), \"descr\": \"|u1\", 'fortran_order': True, }\n", 2)), "no error");
  const auto refused = [](const std::string& header, const std::string& fact) {
    EXPECT_EQ(npy_error(npy(header, 8)), "a.npy: " + fact);
  };
  const std::string rest = "'fortran_order': False, 'shape': (2,)}";
  refused("{'descr': '|O', " + rest,
          "header: dtype \"|O\" is not read | write it with .astype('<i4') or .astype('<i8')");
  refused("{'descr': '<i4', 'descr': '<i4', " + rest, "header: the key \"descr\" is there twice");
  refused("{'descr': '<i4', 'more': 1, " + rest, "header: unknown key \"more\"");
  refused("{" + rest, "header: descr, fortran_order or shape is absent");
  refused("{'descr': '<i4', " + rest + "; import os", "header: something follows the dict: \"; import os\"");
  refused("{'descr': '<i4', 'fortran_order': 0, 'shape': (2,)}",
          "header: expected \"False\", found \"0, 'shape': (2,)}\"");
  refused("{'descr': '<i4', 'fortran_order': False, 'shape': (2)}", "header: the shape is no tuple");
  refused("{'descr': '<i4', 'fortran_order': False, 'shape': (-2,)}", "header: the shape has \"-2\"");
  refused("{'descr': '<i4', 'fortran_order': False, 'shape': (exit(),)}", "header: the shape has \"exit(\"");
  refused("{'descr': '<i4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,2)}",
          "header: there are more than 8 dimensions");
  refused("{'descr': '<i4', 'fortran_order': False, 'shape': (4611686018427387904, 4)}",
          "the shape [4611686018427387904, 4] is too large");
  refused("{'descr': '<i4', 'fortran_order': False, 'shape': (1152921504606846976,)}",
          "[1152921504606846976] of int32 needs 4611686018427387904 bytes, 8 are there");
  Bytes lying = fixture("v2.npy");
  lying[11] = 0x7f;  // of the length's four bytes
  EXPECT_EQ(npy_error(lying), "a.npy: the header's length 2130706548 is above 10000");
  lying[6] = 4;
  EXPECT_EQ(npy_error(lying), "a.npy: version 4.0 is not read");
}

TEST(Npy, Writes) {
  for (const NpyType type : {NpyType::int32, NpyType::int64})
    for (const Values& shape : {Values{24}, Values{2, 12}, Values{2, 3, 4}, Values{0, 7}}) {
      const Values values = numbers(shape == Values{0, 7} ? 0 : 24, -5);
      const Bytes bytes = to_npy(values, shape, type);
      const NpyArray read = parse_npy(bytes, "a.npy");
      EXPECT_EQ(read.shape, shape);
      EXPECT_EQ(read.values, values);
      EXPECT_EQ((bytes.size() - values.size() * (type == NpyType::int32 ? 4 : 8)) % 64, 0u);
    }
  const Bytes numpys = fixture("c_i4.npy"), ours = to_npy(numbers(24), Values{2, 3, 4}, NpyType::int32);
  EXPECT_EQ(ours, numpys);
  EXPECT_EQ(to_npy(numbers(3), Values{3}, NpyType::int64), fixture("one.npy"));
  EXPECT_EQ(error_of([] { to_npy(Values{std::int64_t{1} << 31}, Values{1}, NpyType::int32); }),
            "2147483648 does not fit an int32 of a .npy file");
}

TEST(VllmNpy, Counts) {
  const CountsFile window = counts_from_npy(fixture("c_i4.npy"), "a.npy", LayerAxis::moe, ExpertIds::physical);
  EXPECT_EQ(window.steps, 2);
  EXPECT_EQ(window.rows, 3);
  EXPECT_EQ(window.cells, 4);
  EXPECT_EQ(window.counts, numbers(24));
  EXPECT_EQ(window.axis, LayerAxis::moe);
  EXPECT_EQ(window.ids, ExpertIds::physical);
  EXPECT_FALSE(window.experts.has_value());
  const CountsFile weights = counts_from_npy(fixture("dtype_f4.npy"), "a.npy", LayerAxis::unsaid, ExpertIds::logical);
  EXPECT_EQ(weights.steps, 1);
  EXPECT_EQ(weights.rows, 2);
  EXPECT_EQ(weights.experts, 3);
  const auto refusal = [](const Bytes& bytes) {
    return error_of([&] { counts_from_npy(bytes, "a.npy", LayerAxis::moe, ExpertIds::physical); });
  };
  EXPECT_EQ(refusal(fixture("one.npy")), "a.npy: the shape [3] is not (rows, cells) or (steps, rows, cells)");
  EXPECT_EQ(refusal(fixture("empty.npy")), "a.npy: the shape [0, 3] is empty");
  EXPECT_EQ(refusal(to_npy(Values{1, -1}, Values{1, 2}, NpyType::int32)), "a.npy: count 1 of 2 is negative");
  EXPECT_EQ(refusal(to_npy(Values{INT64_MAX}, Values{1, 1}, NpyType::int64)), "a.npy: count 0 of 1 is above 2^53");
}

TEST(VllmNpy, Map) {
  const MapFile map = map_from_npy(to_npy(kP2l, Values{3, 6}, NpyType::int64), "a.npy", LayerAxis::moe);
  ASSERT_EQ(map.rows.size(), 3u);
  EXPECT_EQ(map.axis, LayerAxis::moe);
  EXPECT_EQ(map.physical, 6);
  EXPECT_EQ(map.rows[2].layer, 2);
  EXPECT_EQ(map.rows[2].by_rank, (std::vector<Values>{{3, 2, 1, 0, 1, 1}}));
  EXPECT_EQ(error_of([] { map_from_npy(fixture("c_i4.npy"), "a.npy", LayerAxis::moe); }),
            "a.npy: the shape [2, 3, 4] is not (rows, slots)");
}

}  // namespace
}  // namespace afore::wire
