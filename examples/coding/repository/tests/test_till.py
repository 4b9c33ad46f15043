import unittest

from till.money import AmountError, change, format_amount, parse_amount, split_bill, with_tip
from till.receipt import Receipt


class Amounts(unittest.TestCase):
    def test_amounts_are_read_in_both_spellings(self):
        self.assertEqual(parse_amount("12.50"), 1250)
        self.assertEqual(parse_amount("12,50"), 1250)
        self.assertEqual(parse_amount("€3"), 300)

    def test_what_is_no_amount_is_refused(self):
        with self.assertRaises(AmountError):
            parse_amount("twelve")

    def test_amounts_are_written_with_two_places(self):
        self.assertEqual(format_amount(1205), "€12.05")
        self.assertEqual(format_amount(-5), "-€0.05")


class Bills(unittest.TestCase):
    def test_an_even_bill_is_shared_evenly(self):
        self.assertEqual(split_bill(900, 3), [300, 300, 300])

    def test_the_shares_add_up_to_the_bill(self):
        for cents, people in ((1000, 3), (999, 2), (1, 4), (10_000, 7)):
            with self.subTest(cents=cents, people=people):
                self.assertEqual(sum(split_bill(cents, people)), cents)

    def test_nobody_pays_more_than_a_cent_extra(self):
        shares = split_bill(1000, 3)
        self.assertLessEqual(max(shares) - min(shares), 1)

    def test_a_tip_is_added(self):
        self.assertEqual(with_tip(1250, 10), 1375)

    def test_change_is_given_in_the_largest_pieces(self):
        self.assertEqual(change(1375, 2000), [500, 100, 20, 5])


class Receipts(unittest.TestCase):
    def test_a_receipt_adds_up_and_is_shared(self):
        receipt = Receipt("7")
        receipt.add("coffee", 350, 2)
        receipt.add("cake", 480)
        self.assertEqual(receipt.total, 1180)
        self.assertEqual(sum(receipt.shares(3)), 1180)
        self.assertIn("€11.80", receipt.printed())


if __name__ == "__main__":
    unittest.main()
