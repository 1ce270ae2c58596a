#include "train/data/permutation.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/error.h"

namespace refrain::train {
namespace {

std::vector<int64_t> all_of(const Permutation& permutation) {
  std::vector<int64_t> images;
  for (int64_t i = 0; i < permutation.size(); ++i) images.push_back(permutation(i));
  return images;
}

TEST(Permutation, ReachesEveryElementOnceForEverySize) {
  for (int64_t size = 1; size <= 1100; ++size) {
    const Permutation permutation(size, static_cast<uint64_t>(size) * 77);
    std::vector<bool> seen(size, false);
    for (const int64_t image : all_of(permutation)) {
      ASSERT_TRUE(image >= 0 && image < size && !seen[image]) << size;
      seen[image] = true;
    }
  }
}

TEST(Permutation, FollowsFromSizeAndKeyAlone) {
  EXPECT_EQ(all_of(Permutation(1000, 5)), all_of(Permutation(1000, 5)));
  EXPECT_NE(all_of(Permutation(1000, 5)), all_of(Permutation(1000, 6)));
  // Written down, for checkpoints of one machine are resumed on another.
  EXPECT_EQ(all_of(Permutation(10, 1)), (std::vector<int64_t>{4, 6, 8, 0, 3, 1, 9, 5, 7, 2}));
}

TEST(Permutation, LargeSizesWork) {
  const int64_t size = (int64_t{1} << 62) - 3;
  const Permutation permutation(size, 9);
  EXPECT_NE(permutation(0), permutation(size - 1));
  EXPECT_LT(permutation(size - 1), size);
}

TEST(Permutation, SpreadsEveryElementEvenly) {
  // Counts of (index, image) over many keys against the uniform share, by chi square: 49 cells of
  // 200 expected. 49 degrees of freedom less the 13 of the margins: above 90 once in 10^6.
  constexpr int64_t kSize = 7, kKeys = 1400;
  std::vector<int> counts(kSize * kSize);
  for (uint64_t key = 0; key < kKeys; ++key) {
    const Permutation permutation(kSize, key);
    for (int64_t i = 0; i < kSize; ++i) ++counts[i * kSize + permutation(i)];
  }
  double chi_square = 0;
  for (const int count : counts) chi_square += (count - 200.0) * (count - 200.0) / 200.0;
  EXPECT_LT(chi_square, 90);
  EXPECT_GT(chi_square, 8);
}

TEST(Permutation, LeavesNeighboursApart) {
  constexpr int64_t kSize = 10'000;
  const std::vector<int64_t> images = all_of(Permutation(kSize, 3));
  int num_near = 0, num_fixed = 0;
  for (int64_t i = 1; i < kSize; ++i) {
    num_near += std::abs(images[i] - images[i - 1]) <= 10;
    num_fixed += images[i] == i;
  }
  EXPECT_LT(num_near, 50);  // 20 expected
  EXPECT_LT(num_fixed, 8);  // 1 expected
}

TEST(Permutation, RefusesWhatIsOutside) {
  EXPECT_THROW(Permutation(0, 1), Bug);
  EXPECT_THROW(Permutation(5, 1)(5), Bug);
  EXPECT_THROW(Permutation(5, 1)(-1), Bug);
}

}  // namespace
}  // namespace refrain::train
