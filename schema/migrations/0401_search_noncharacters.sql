-- Code points that are no characters (U+FFFE, U+FFFF, U+FDD0 to U+FDEF) end a word, as U+FFFD does: before, one of them behind a
-- name was its last letter. Words that are stored stay: those that have one are found by their beginnings, and are cut again when
-- their token is read again.

-- The words of a text in their order. A `word` is what stands between separators; a `run` is of a script that has no spaces,
-- or of symbols such as emoji. What neither list names is part of a word.
CREATE OR REPLACE FUNCTION service.search_pieces(given text) RETURNS TABLE (place bigint, word text, run text)
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
  SELECT m.place, left(m.parts[1], 60), m.parts[2]
  FROM (VALUES (
      '\u0001-\u002F\u003A-\u0040\u005B-\u0060\u007B-\u00BF\u00D7\u00F7\u02BB\u02BC\u055A-\u055F\u0589\u058A\u05BE'
      '\u05C0\u05C3\u05C6\u05F3\u05F4\u0609-\u060D\u061B\u061D-\u061F\u066A-\u066D\u06D4\u0700-\u070F\u0964\u0965'
      '\u0970\u0DF4\u0E4F\u0E5A\u0E5B\u0F04-\u0F14\u0F3A-\u0F3D\u0F85\u104A-\u104F\u10FB\u1360-\u1368\u1400\u166D'
      '\u166E\u1680\u16EB-\u16ED\u17D4-\u17D6\u17D8-\u17DA\u1800-\u180A\u1C3B-\u1C3F\u1C7E\u1C7F\u2000-\u205F'
      '\u2308-\u230B\u2329\u232A\u2768-\u2775\u27E6-\u27EF\u2983-\u2998\u2E00-\u2E7F\u3000-\u3003\u3008-\u3011'
      '\u3014-\u301F\u3030\u303D\u30A0\u30FB\uA4FE\uA4FF\uA60D-\uA60F\uA8CE\uA8CF\uA92E\uA9C1-\uA9CD\uAADE\uAADF'
      '\uABEB\uFD3E\uFD3F\uFDD0-\uFDEF\uFFF9-\uFFFF\U0001FFFE\U0001FFFF',
      '\u0E01-\u0E4E\u0E50-\u0E59\u0E80-\u0EFF\u1000-\u1049\u1050-\u109F\u1780-\u17D3\u17D7\u17DB-\u17FF\u1950-\u19DF'
      '\u1A20-\u1AAD\u20A0-\u20CF\u2190-\u2307\u230C-\u2328\u232B-\u2767\u2776-\u27E5\u27F0-\u2982\u2999-\u2BFF'
      '\u2E80-\u2FFF\u3004-\u3007\u3012\u3013\u3020-\u302F\u3031-\u303C\u303E-\u309F\u30A1-\u30FA\u30FC-\uA4CF'
      '\uA9E0-\uA9FF\uAA60-\uAADD\uF900-\uFAFF\U00011700-\U0001173B\U00016FE0-\U0001B2FF\U0001F000-\U0001FAFF'
      '\U00020000-\U0003FFFF'
    )) AS c (separators, runs),
    regexp_matches(service.search_fold(given) COLLATE "C",
      '([^' || c.separators || c.runs || ']+)|([' || c.runs || ']+)', 'g') WITH ORDINALITY AS m (parts, place);
END;
