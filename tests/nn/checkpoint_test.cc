// Checkpoints: what the format promises is checked, and every damage ends in one line.
#include "nn/checkpoint.h"

#include "nn/safetensors.h"
#include "nn_test_util.h"
#include "safetensors_writer.h"

namespace afore::nn {
namespace {

using Shape = std::vector<std::int64_t>;

SafetensorsWriter two_tensors() {
  SafetensorsWriter writer;
  writer.add("a", "BF16", {2, 3}, bytes_of_values<std::uint16_t>({1, 2, 3, 4, 5, 6}));
  writer.add("b", "F32", {2}, bytes_of_values<float>({1.5f, -2}));
  return writer;
}

std::string open_error(std::string_view file, ErrorKind kind = ErrorKind::data) {
  const TempFolder folder;
  folder.write("model.safetensors", file);
  return folder.clean(error_of([&] { Checkpoint checkpoint(folder.path()); }, kind));
}

std::string header_error(std::string_view header, std::string_view data = "") {
  const std::string text = open_error(safetensors_file(header, data));
  const std::string prefix = "FOLDER/model.safetensors: ";
  EXPECT_EQ(text.rfind(prefix, 0), 0u) << text;
  return text.substr(std::min(prefix.size(), text.size()));
}

TEST(Checkpoint, ReadsTensors) {
  const TempFolder folder;
  folder.write("model.safetensors", two_tensors().file());
  const Checkpoint checkpoint(folder.path());
  const Tensor* a = checkpoint.find("a");
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->shape, (Shape{2, 3}));
  EXPECT_EQ(a->count(), 6);
  EXPECT_EQ(a->dtype, Dtype::bf16);
  EXPECT_EQ(a->bytes.size(), 12u);
  EXPECT_EQ(checkpoint.find("c"), nullptr);
  std::vector<float> values(2);
  read_f32(checkpoint.at("b", Shape{2}), 0, values);
  EXPECT_EQ(values, (std::vector<float>{1.5f, -2}));
}

TEST(Checkpoint, StaysWhereItsViewsPointWhenMoved) {
  const TempFolder folder;
  folder.write("model.safetensors", two_tensors().file());
  Checkpoint first(folder.path());
  const Tensor* const b = first.find("b");
  const Checkpoint second(std::move(first));
  EXPECT_EQ(second.find("b"), b);
  std::vector<float> values(1);
  read_f32(*b, 1, values);
  EXPECT_EQ(values[0], -2);
}

TEST(Checkpoint, MissingTensorAndOtherShape) {
  const TempFolder folder;
  folder.write("model.safetensors", two_tensors().file());
  const Checkpoint checkpoint(folder.path());
  EXPECT_EQ(folder.clean(error_of([&] { checkpoint.at("c", Shape{2}); })), "FOLDER: tensor \"c\" is missing");
  EXPECT_EQ(folder.clean(error_of([&] {
    checkpoint.at("a", Shape{3, 2});
  })),
            "FOLDER/model.safetensors: tensor \"a\": shape [2, 3], by config.json it is [3, 2]");
  EXPECT_EQ(folder.clean(error_of([&] { checkpoint.at("a", Shape{6}); })),
            "FOLDER/model.safetensors: tensor \"a\": shape [2, 3], by config.json it is [6]");
}

TEST(Checkpoint, OtherDtypesMayBeThereUnused) {
  const TempFolder folder;
  SafetensorsWriter writer = two_tensors();
  writer.add("ids", "I64", {1}, std::string(8, '\0')).add("packed", "F4", {4}, std::string(2, '\0'));
  writer.add("scale", "F8_E4M3", {3}, std::string(3, '\0'));
  writer.header["__metadata__"] = {{"format", "pt"}};
  folder.write("model.safetensors", writer.file());
  const Checkpoint checkpoint(folder.path());
  EXPECT_NE(checkpoint.find("a"), nullptr);
  EXPECT_EQ(
      folder.clean(error_of([&] { checkpoint.find("ids"); })),
      "FOLDER/model.safetensors: tensor \"ids\": dtype I64 is none of BF16, F16 and F32 | quantized checkpoints are "
      "not computed; use one with 16 or 32 bit weights");
  EXPECT_NE(error_of([&] { checkpoint.at("scale", Shape{3}); }).find("dtype F8_E4M3"), std::string::npos);
}

TEST(Checkpoint, EmptyTensorsAndNoTensors) {
  const TempFolder folder;
  SafetensorsWriter writer;
  writer.add_bf16("none", {0, 5}).add_bf16("some", {2}).add_bf16("also none", {0}).add_bf16("scalar", {});
  folder.write("model.safetensors", writer.file());
  const Checkpoint checkpoint(folder.path());
  EXPECT_EQ(checkpoint.find("none")->count(), 0);
  EXPECT_EQ(checkpoint.find("scalar")->count(), 1);
  EXPECT_EQ(open_error(safetensors_file("{}", "")), "no error");
  EXPECT_EQ(open_error(safetensors_file("{\"__metadata__\":{}}   ", "")), "no error");  // padded, as writers align
}

// Wherever it is cut, it does not open: the last byte of data is a tensor's.
TEST(Checkpoint, CutAnywhere) {
  const std::string whole = two_tensors().file();
  EXPECT_EQ(open_error(whole), "no error");
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes)
    EXPECT_NE(open_error(whole.substr(0, bytes)), "no error") << bytes;
  EXPECT_EQ(open_error(""), "FOLDER/model.safetensors: 0 bytes are no safetensors file");
  EXPECT_EQ(open_error(whole.substr(0, 20)), "FOLDER/model.safetensors: the header's length is " +
                                                 std::to_string(whole.size() - 8 - 20) + ", 12 bytes follow");
  EXPECT_EQ(open_error(whole.substr(0, whole.size() - 1)),
            "FOLDER/model.safetensors: /b/data_offsets: ends at 20, the file has 19 bytes of data | was it cut off?");
  EXPECT_EQ(open_error(whole + "x"), "FOLDER/model.safetensors: 1 bytes behind the last tensor");
}

TEST(Checkpoint, HeaderLengths) {
  std::string file(16, '\0');
  for (const std::uint64_t size : {std::uint64_t{100'000'001}, UINT64_MAX, UINT64_MAX - 7, std::uint64_t{1} << 63}) {
    std::memcpy(file.data(), &size, 8);
    EXPECT_EQ(open_error(file),
              "FOLDER/model.safetensors: the header's length " + std::to_string(size) + " is above 100000000");
  }
  const std::uint64_t size = 9;
  std::memcpy(file.data(), &size, 8);
  EXPECT_EQ(open_error(file), "FOLDER/model.safetensors: the header's length is 9, 8 bytes follow");
}

TEST(Checkpoint, HeaderText) {
  EXPECT_EQ(header_error(""), "the header does not begin with '{'");
  EXPECT_EQ(header_error(" {}"), "the header does not begin with '{'");
  EXPECT_EQ(header_error("[]"), "the header does not begin with '{'");
  EXPECT_EQ(header_error("{"), "not valid JSON at byte 2");
  EXPECT_EQ(header_error("{} {}"), "not valid JSON at byte 4");
  EXPECT_EQ(header_error(std::string_view("{}\0{", 4)), "a NUL byte at byte 3");
  EXPECT_EQ(header_error("{\"a\xFF\":1}"), "not valid JSON at byte 4");
  EXPECT_EQ(header_error("{\"__metadata__\":{\"a\":1}}"), "/__metadata__/a: expected a string, found 1");
  EXPECT_EQ(header_error("{\"__metadata__\":[]}"), "/__metadata__: expected an object, found an array");
}

const std::string kFour = R"("dtype":"F32","shape":[1],"data_offsets":[0,4])";

TEST(Checkpoint, NamesTwice) {
  EXPECT_EQ(header_error("{\"a\":{" + kFour + "},\"a\":{" + kFour + "}}", "0123"),
            "the key \"a\" stands twice in one object");
  EXPECT_EQ(header_error("{\"a\":{" + kFour + ",\"dtype\":\"F32\"}}", "0123"),
            "the key \"dtype\" stands twice in one object");
}

TEST(Checkpoint, Entries) {
  const auto with = [](const std::string& entry) { return header_error("{\"a\":" + entry + "}", "0123"); };
  EXPECT_EQ(with("3"), "/a: expected an object, found 3");
  EXPECT_EQ(with("{}"), "/a/dtype: the key is missing");
  EXPECT_EQ(with(R"({"dtype":"F32"})"), "/a/shape: the key is missing");
  EXPECT_EQ(with(R"({"dtype":"F32","shape":[1]})"), "/a/data_offsets: the key is missing");
  EXPECT_EQ(with(R"({"dtype":7,"shape":[1],"data_offsets":[0,4]})"), "/a/dtype: expected a string, found 7");
  EXPECT_EQ(with(R"({"dtype":"f32","shape":[1],"data_offsets":[0,4]})"), "/a/dtype: \"f32\" is no dtype of the format");
  EXPECT_EQ(with(R"({"dtype":"F32","shape":1,"data_offsets":[0,4]})"), "/a/shape: expected an array, found 1");
  EXPECT_EQ(with(R"({"dtype":"F32","shape":[-1],"data_offsets":[0,4]})"), "/a/shape/0: -1 is below 0");
  EXPECT_EQ(with(R"({"dtype":"F32","shape":[1.0],"data_offsets":[0,4]})"),
            "/a/shape/0: expected an integer, found 1.0");
  EXPECT_EQ(with(R"({"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,4]})"),
            "/a/shape/0: 18446744073709551615 is above 9223372036854775807");
  EXPECT_EQ(with(R"({"dtype":"F32","shape":[1],"data_offsets":[0]})"), "/a/data_offsets: expected 2 offsets, found 1");
  EXPECT_EQ(with(R"({"dtype":"F32","shape":[1],"data_offsets":[4,0]})"),
            "/a/data_offsets: ends at 0, before its begin at 4");
  EXPECT_EQ(with(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})"),
            "/a/data_offsets: ends at 8, the file has 4 bytes of data | was it cut off?");
  EXPECT_EQ(with(R"({"dtype":"F32","shape":[1],"data_offsets":[9223372036854775800,9223372036854775804]})"),
            "/a/data_offsets: ends at 9223372036854775804, the file has 4 bytes of data | was it cut off?");
}

TEST(Checkpoint, SizesThatDoNotFit) {
  const auto with = [](const std::string& dtype, const std::string& shape) {
    return header_error("{\"a\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":[0,4]}}", "0123");
  };
  EXPECT_EQ(with("F32", "[2]"), "/a: 4 bytes of data, F32 [2] needs 8");
  EXPECT_EQ(with("BF16", "[1]"), "/a: 4 bytes of data, BF16 [1] needs 2");
  EXPECT_EQ(with("U8", "[0]"), "/a: 4 bytes of data, U8 [0] needs 0");
  EXPECT_EQ(with("F4", "[7]"), "/a: the shape [7] ends inside a byte");
  // 2^62 * 4 is 0 in 64 bits, and 2^61 * 2^3 bytes of 8 bits wrap around to no byte at all.
  EXPECT_EQ(with("F32", "[4611686018427387904,4,1]"), "/a: the shape [4611686018427387904, 4, 1] is too large");
  EXPECT_EQ(with("U8", "[2305843009213693952,8]"), "/a: the shape [2305843009213693952, 8] is too large");
  EXPECT_EQ(with("F32", "[9223372036854775807,9223372036854775807,0]"),
            "/a: the shape [9223372036854775807, 9223372036854775807, 0] is too large");
}

std::string cover_error(std::int64_t a_begin, std::int64_t a_end, std::int64_t b_begin, std::int64_t b_end) {
  nlohmann::json header;
  header["a"] = {{"dtype", "U8"}, {"shape", {a_end - a_begin}}, {"data_offsets", {a_begin, a_end}}};
  header["b"] = {{"dtype", "U8"}, {"shape", {b_end - b_begin}}, {"data_offsets", {b_begin, b_end}}};
  const TempFolder folder;
  folder.write("model.safetensors", safetensors_file(header.dump(), "01234567"));
  return folder.clean(error_of([&] { Checkpoint checkpoint(folder.path()); }));
}

TEST(Checkpoint, OverlapsAndHoles) {
  const std::string hint = " | tensors may neither overlap nor leave holes", file = "FOLDER/model.safetensors: ";
  EXPECT_EQ(cover_error(0, 4, 4, 8), "no error");
  EXPECT_EQ(cover_error(4, 8, 0, 4), "no error");  // in whatever order they are named
  EXPECT_EQ(cover_error(0, 5, 4, 8), file + "tensor \"b\": its data begins at 4, the data before it ends at 5" + hint);
  EXPECT_EQ(cover_error(0, 8, 0, 8), file + "tensor \"b\": its data begins at 0, the data before it ends at 8" + hint);
  EXPECT_EQ(cover_error(0, 3, 4, 8), file + "tensor \"b\": its data begins at 4, the data before it ends at 3" + hint);
  EXPECT_EQ(cover_error(1, 4, 4, 8), file + "tensor \"a\": its data begins at 1, the data before it ends at 0" + hint);
  EXPECT_EQ(cover_error(0, 4, 4, 7), file + "1 bytes behind the last tensor");
}

TEST(Checkpoint, FilesThatCannotBeRead) {
  const TempFolder folder;
  const auto error = [&] {
    return folder.clean(error_of([&] { Checkpoint checkpoint(folder.path()); }, ErrorKind::io));
  };
  EXPECT_EQ(error(), "FOLDER: neither model.safetensors nor model.safetensors.index.json is there");
  std::filesystem::create_directory(folder.path() / "model.safetensors");
  EXPECT_EQ(error(), "cannot map FOLDER/model.safetensors: not a regular file");
}

// A bit of the header flipped: one line, or a file that still holds together.
TEST(Checkpoint, FlippedBits) {
  const std::string whole = two_tensors().file();
  const std::size_t header_end = whole.size() - two_tensors().data.size();
  int refused = 0;
  for (std::size_t bit = 0; bit < 8 * header_end; ++bit) {
    std::string broken = whole;
    broken[bit / 8] = static_cast<char>(broken[bit / 8] ^ 1 << bit % 8);
    refused += error_of([&] {
                 for (const SafetensorsEntry& entry :
                      read_safetensors_header(std::as_bytes(std::span(broken.data(), broken.size())), "x"))
                   ASSERT_TRUE(entry.begin <= entry.end && entry.end <= broken.size());
               }) != "no error";
  }
  EXPECT_GT(refused, static_cast<int>(4 * header_end));
}

// --- shards ---

class Shards : public testing::Test {
 protected:
  Shards() {
    folder.write("one.safetensors", SafetensorsWriter().add_bf16("a", {2}).add_bf16("b", {3}).file());
    folder.write("two.safetensors", SafetensorsWriter().add_bf16("c", {4}).add_bf16("a", {7}).file());
  }
  std::string error(const nlohmann::json& index, ErrorKind kind = ErrorKind::data) {
    folder.write("model.safetensors.index.json", index.dump());
    return folder.clean(error_of([&] { Checkpoint checkpoint(folder.path()); }, kind));
  }
  static nlohmann::json index_of(const nlohmann::json& weight_map) { return {{"weight_map", weight_map}}; }

  const TempFolder folder;
};

TEST_F(Shards, TheIndexDecides) {
  folder.write("model.safetensors.index.json",
               R"({"metadata":{"total_size":18},"weight_map":{"a":"one.safetensors","b":"one.safetensors",)"
               R"("c":"two.safetensors"}})");
  const Checkpoint checkpoint(folder.path());
  EXPECT_EQ(checkpoint.find("a")->shape, (Shape{2}));
  EXPECT_EQ(checkpoint.find("a")->file, (folder.path() / "one.safetensors").string());
  EXPECT_EQ(checkpoint.find("c")->shape, (Shape{4}));
}

TEST_F(Shards, MissingShardAndMissingTensor) {
  EXPECT_EQ(
      error(index_of({{"a", "three.safetensors"}}), ErrorKind::io),
      "cannot open FOLDER/three.safetensors: No such file or directory | FOLDER/model.safetensors.index.json names it");
  EXPECT_EQ(
      error(index_of({{"a", "one.safetensors"}, {"d", "one.safetensors"}})),
      "FOLDER/one.safetensors: tensor \"d\" is missing | FOLDER/model.safetensors.index.json says that it is there");
}

TEST_F(Shards, DamagedShard) {
  folder.write("one.safetensors", "short");
  EXPECT_EQ(error(index_of({{"a", "one.safetensors"}})), "FOLDER/one.safetensors: 5 bytes are no safetensors file");
}

TEST_F(Shards, DamagedIndex) {
  const std::string file = "FOLDER/model.safetensors.index.json: ";
  EXPECT_EQ(error({{"x", 1}}), file + "/weight_map: the key is missing");
  EXPECT_EQ(error(index_of(3)), file + "/weight_map: expected an object, found 3");
  EXPECT_EQ(error(index_of({{"a", 3}})), file + "/weight_map/a: expected a string, found 3");
  for (const char* name : {"../one.safetensors", "/one.safetensors", "one.bin", "", "."})
    EXPECT_EQ(error(index_of({{"a", name}})), file + "/weight_map/a: \"" + name + "\" is no name of a shard");
  folder.write("model.safetensors.index.json", R"({"weight_map":{"a":"one.safetensors","a":"two.safetensors"}})");
  EXPECT_EQ(folder.clean(error_of([&] { Checkpoint checkpoint(folder.path()); })),
            file + "the key \"a\" stands twice in one object");
}

}  // namespace
}  // namespace afore::nn
