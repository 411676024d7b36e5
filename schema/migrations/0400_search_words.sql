-- What search finds a token by. Text and query are cut into words by the same functions, which depend neither on the locale
-- nor on the version of the server's libraries: letters and separators are named here.
--
-- On a database with tokens this makes an empty table and waits for no rows. The worker fills it, a few rows at a time,
-- while search finds the others by the index of the version before (src/nfts/render-again.ts).

-- A text as it is compared: compatible forms are one (NFKC), and so are the cases of a letter. Accents, points of Hebrew
-- and Arabic, skin tones and characters without a shape are left out. Named are the letters of Unicode 17 whose case is another
-- letter, as toLowerCase(toUpperCase()) says, but those that decompose. Only those that the text has are given to
-- translate(), which looks through all it is given for each letter.
CREATE FUNCTION service.search_fold(given text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN CASE WHEN octet_length(given) = length(given) THEN lower(given COLLATE "C") ELSE (
  SELECT normalize(replace(translate(plain.text, coalesce(string_agg(l.letter, ''), ''),
      coalesce(string_agg(substr(c.folded, strpos(c.letters, l.letter), 1), ''), '')), 'ß', 'ss'), NFC)
  FROM (VALUES (
      'ÆÐØÞĐĦıŁŊŒŦƁƂƄƆƇƉƊƋƎƏƐƑƓƔƖƗƘƜƝƟƢƤƦƧƩƬƮƱƲƳƵƷƸƼǤǶǷȜȠȢȤȺȻȽȾɁɃɄɅɆɈɊɌɎͅͰͲͶͿΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩςϏϘϚϜϞϠϢϤϦϨϪϬϮϷϺϽϾϿЂЄЅІЈЉЊЋЏАБВГДЕЖЗИКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯѠѢѤѦѨѪѬѮѰѲѴѸѺѼѾҀҊҌҎҐҒҔҖҘҚҜҞҠҢҤҦҨҪҬҮҰҲҴҶҸҺҼҾӀӃӅӇӉӋӍӔӘӠӨӶӺӼӾԀԂԄԆԈԊԌԎԐԒԔԖԘԚԜԞԠԢԤԦԨԪԬԮԱԲԳԴԵԶԷԸԹԺԻԼԽԾԿՀՁՂՃՄՅՆՇՈՉՊՋՌՍՎՏՐՑՒՓՔՕՖႠႡႢႣႤႥႦႧႨႩႪႫႬႭႮႯႰႱႲႳႴႵႶႷႸႹႺႻႼႽႾႿჀჁჂჃჄჅჇჍᎠᎡᎢᎣᎤᎥᎦᎧᎨᎩᎪᎫᎬᎭᎮᎯᎰᎱᎲᎳᎴᎵᎶᎷᎸᎹᎺᎻᎼᎽᎾᎿᏀᏁᏂᏃᏄᏅᏆᏇᏈᏉᏊᏋᏌᏍᏎᏏᏐᏑᏒᏓᏔᏕᏖᏗᏘᏙᏚᏛᏜᏝᏞᏟᏠᏡᏢᏣᏤᏥᏦᏧᏨᏩᏪᏫᏬᏭᏮᏯᏰᏱᏲᏳᏴᏵᲀᲁᲂᲃᲄᲅᲆᲇᲈᲉᲐᲑᲒᲓᲔᲕᲖᲗᲘᲙᲚᲛᲜᲝᲞᲟᲠᲡᲢᲣᲤᲥᲦᲧᲨᲩᲪᲫᲬᲭᲮᲯᲰᲱᲲᲳᲴᲵᲶᲷᲸᲹᲺᲽᲾᲿẞỺỼỾℲↃⰀⰁⰂⰃⰄⰅⰆⰇⰈⰉⰊⰋⰌⰍⰎⰏⰐⰑⰒⰓⰔⰕⰖⰗⰘⰙⰚⰛⰜⰝⰞⰟⰠⰡⰢⰣⰤⰥⰦⰧⰨⰩⰪⰫⰬⰭⰮⰯⱠⱢⱣⱤⱧⱩⱫⱭⱮⱯⱰⱲⱵⱾⱿⲀⲂⲄⲆⲈⲊⲌⲎⲐⲒⲔⲖⲘⲚⲜⲞⲠⲢⲤⲦⲨⲪⲬⲮⲰⲲⲴⲶⲸⲺⲼⲾⳀⳂⳄⳆⳈⳊⳌⳎⳐⳒⳔⳖⳘⳚⳜⳞⳠⳢⳫⳭⳲꙀꙂꙄꙆꙈꙊꙌꙎꙐꙒꙔꙖꙘꙚꙜꙞꙠꙢꙤꙦꙨꙪꙬꚀꚂꚄꚆꚈꚊꚌꚎꚐꚒꚔꚖꚘꚚꜢꜤꜦꜨꜪꜬꜮꜲꜴꜶꜸꜺꜼꜾꝀꝂꝄꝆꝈꝊꝌꝎꝐꝒꝔꝖꝘꝚꝜꝞꝠꝢꝤꝦꝨꝪꝬꝮꝹꝻꝽꝾꞀꞂꞄꞆꞋꞍꞐꞒꞖꞘꞚꞜꞞꞠꞢꞤꞦꞨꞪꞫꞬꞭꞮꞰꞱꞲꞳꞴꞶꞸꞺꞼꞾꟀꟂꟄꟅꟆꟇꟉꟋꟌ꟎Ꟑ꟒꟔ꟖꟘꟚꟜꟵ𐐀𐐁𐐂𐐃𐐄𐐅𐐆𐐇𐐈𐐉𐐊𐐋𐐌𐐍𐐎𐐏𐐐𐐑𐐒𐐓𐐔𐐕𐐖𐐗𐐘𐐙𐐚𐐛𐐜𐐝𐐞𐐟𐐠𐐡𐐢𐐣𐐤𐐥𐐦𐐧𐒰𐒱𐒲𐒳𐒴𐒵𐒶𐒷𐒸𐒹𐒺𐒻𐒼𐒽𐒾𐒿𐓀𐓁𐓂𐓃𐓄𐓅𐓆𐓇𐓈𐓉𐓊𐓋𐓌𐓍𐓎𐓏𐓐𐓑𐓒𐓓𐕰𐕱𐕲𐕳𐕴𐕵𐕶𐕷𐕸𐕹𐕺𐕼𐕽𐕾𐕿𐖀𐖁𐖂𐖃𐖄𐖅𐖆𐖇𐖈𐖉𐖊𐖌𐖍𐖎𐖏𐖐𐖑𐖒𐖔𐖕𐲀𐲁𐲂𐲃𐲄𐲅𐲆𐲇𐲈𐲉𐲊𐲋𐲌𐲍𐲎𐲏𐲐𐲑𐲒𐲓𐲔𐲕𐲖𐲗𐲘𐲙𐲚𐲛𐲜𐲝𐲞𐲟𐲠𐲡𐲢𐲣𐲤𐲥𐲦𐲧𐲨𐲩𐲪𐲫𐲬𐲭𐲮𐲯𐲰𐲱𐲲𐵐𐵑𐵒𐵓𐵔𐵕𐵖𐵗𐵘𐵙𐵚𐵛𐵜𐵝𐵞𐵟𐵠𐵡𐵢𐵣𐵤𐵥𑢠𑢡𑢢𑢣𑢤𑢥𑢦𑢧𑢨𑢩𑢪𑢫𑢬𑢭𑢮𑢯𑢰𑢱𑢲𑢳𑢴𑢵𑢶𑢷𑢸𑢹𑢺𑢻𑢼𑢽𑢾𑢿𖹀𖹁𖹂𖹃𖹄𖹅𖹆𖹇𖹈𖹉𖹊𖹋𖹌𖹍𖹎𖹏𖹐𖹑𖹒𖹓𖹔𖹕𖹖𖹗𖹘𖹙𖹚𖹛𖹜𖹝𖹞𖹟𖺠𖺡𖺢𖺣𖺤𖺥𖺦𖺧𖺨𖺩𖺪𖺫𖺬𖺭𖺮𖺯𖺰𖺱𖺲𖺳𖺴𖺵𖺶𖺷𖺸𞤀𞤁𞤂𞤃𞤄𞤅𞤆𞤇𞤈𞤉𞤊𞤋𞤌𞤍𞤎𞤏𞤐𞤑𞤒𞤓𞤔𞤕𞤖𞤗𞤘𞤙𞤚𞤛𞤜𞤝𞤞𞤟𞤠𞤡ẞ',
      'æðøþđħiłŋœŧɓƃƅɔƈɖɗƌǝəɛƒɠɣɩɨƙɯɲɵƣƥʀƨʃƭʈʊʋƴƶʒƹƽǥƕƿȝƞȣȥⱥȼƚⱦɂƀʉʌɇɉɋɍɏιͱͳͷϳαβγδεζηθικλμνξοπρστυφχψωσϗϙϛϝϟϡϣϥϧϩϫϭϯϸϻͻͼͽђєѕіјљњћџабвгдежзиклмнопрстуфхцчшщъыьэюяѡѣѥѧѩѫѭѯѱѳѵѹѻѽѿҁҋҍҏґғҕҗҙқҝҟҡңҥҧҩҫҭүұҳҵҷҹһҽҿӏӄӆӈӊӌӎӕәӡөӷӻӽӿԁԃԅԇԉԋԍԏԑԓԕԗԙԛԝԟԡԣԥԧԩԫԭԯաբգդեզէըթժիլխծկհձղճմյնշոչպջռսվտրցւփքօֆⴀⴁⴂⴃⴄⴅⴆⴇⴈⴉⴊⴋⴌⴍⴎⴏⴐⴑⴒⴓⴔⴕⴖⴗⴘⴙⴚⴛⴜⴝⴞⴟⴠⴡⴢⴣⴤⴥⴧⴭꭰꭱꭲꭳꭴꭵꭶꭷꭸꭹꭺꭻꭼꭽꭾꭿꮀꮁꮂꮃꮄꮅꮆꮇꮈꮉꮊꮋꮌꮍꮎꮏꮐꮑꮒꮓꮔꮕꮖꮗꮘꮙꮚꮛꮜꮝꮞꮟꮠꮡꮢꮣꮤꮥꮦꮧꮨꮩꮪꮫꮬꮭꮮꮯꮰꮱꮲꮳꮴꮵꮶꮷꮸꮹꮺꮻꮼꮽꮾꮿᏸᏹᏺᏻᏼᏽвдосттъѣꙋᲊაბგდევზთიკლმნოპჟრსტუფქღყშჩცძწჭხჯჰჱჲჳჴჵჶჷჸჹჺჽჾჿßỻỽỿⅎↄⰰⰱⰲⰳⰴⰵⰶⰷⰸⰹⰺⰻⰼⰽⰾⰿⱀⱁⱂⱃⱄⱅⱆⱇⱈⱉⱊⱋⱌⱍⱎⱏⱐⱑⱒⱓⱔⱕⱖⱗⱘⱙⱚⱛⱜⱝⱞⱟⱡɫᵽɽⱨⱪⱬɑɱɐɒⱳⱶȿɀⲁⲃⲅⲇⲉⲋⲍⲏⲑⲓⲕⲗⲙⲛⲝⲟⲡⲣⲥⲧⲩⲫⲭⲯⲱⲳⲵⲷⲹⲻⲽⲿⳁⳃⳅⳇⳉⳋⳍⳏⳑⳓⳕⳗⳙⳛⳝⳟⳡⳣⳬⳮⳳꙁꙃꙅꙇꙉꙋꙍꙏꙑꙓꙕꙗꙙꙛꙝꙟꙡꙣꙥꙧꙩꙫꙭꚁꚃꚅꚇꚉꚋꚍꚏꚑꚓꚕꚗꚙꚛꜣꜥꜧꜩꜫꜭꜯꜳꜵꜷꜹꜻꜽꜿꝁꝃꝅꝇꝉꝋꝍꝏꝑꝓꝕꝗꝙꝛꝝꝟꝡꝣꝥꝧꝩꝫꝭꝯꝺꝼᵹꝿꞁꞃꞅꞇꞌɥꞑꞓꞗꞙꞛꞝꞟꞡꞣꞥꞧꞩɦɜɡɬɪʞʇʝꭓꞵꞷꞹꞻꞽꞿꟁꟃꞔʂᶎꟈꟊɤꟍ꟏ꟑꟓꟕꟗꟙꟛƛꟶ𐐨𐐩𐐪𐐫𐐬𐐭𐐮𐐯𐐰𐐱𐐲𐐳𐐴𐐵𐐶𐐷𐐸𐐹𐐺𐐻𐐼𐐽𐐾𐐿𐑀𐑁𐑂𐑃𐑄𐑅𐑆𐑇𐑈𐑉𐑊𐑋𐑌𐑍𐑎𐑏𐓘𐓙𐓚𐓛𐓜𐓝𐓞𐓟𐓠𐓡𐓢𐓣𐓤𐓥𐓦𐓧𐓨𐓩𐓪𐓫𐓬𐓭𐓮𐓯𐓰𐓱𐓲𐓳𐓴𐓵𐓶𐓷𐓸𐓹𐓺𐓻𐖗𐖘𐖙𐖚𐖛𐖜𐖝𐖞𐖟𐖠𐖡𐖣𐖤𐖥𐖦𐖧𐖨𐖩𐖪𐖫𐖬𐖭𐖮𐖯𐖰𐖱𐖳𐖴𐖵𐖶𐖷𐖸𐖹𐖻𐖼𐳀𐳁𐳂𐳃𐳄𐳅𐳆𐳇𐳈𐳉𐳊𐳋𐳌𐳍𐳎𐳏𐳐𐳑𐳒𐳓𐳔𐳕𐳖𐳗𐳘𐳙𐳚𐳛𐳜𐳝𐳞𐳟𐳠𐳡𐳢𐳣𐳤𐳥𐳦𐳧𐳨𐳩𐳪𐳫𐳬𐳭𐳮𐳯𐳰𐳱𐳲𐵰𐵱𐵲𐵳𐵴𐵵𐵶𐵷𐵸𐵹𐵺𐵻𐵼𐵽𐵾𐵿𐶀𐶁𐶂𐶃𐶄𐶅𑣀𑣁𑣂𑣃𑣄𑣅𑣆𑣇𑣈𑣉𑣊𑣋𑣌𑣍𑣎𑣏𑣐𑣑𑣒𑣓𑣔𑣕𑣖𑣗𑣘𑣙𑣚𑣛𑣜𑣝𑣞𑣟𖹠𖹡𖹢𖹣𖹤𖹥𖹦𖹧𖹨𖹩𖹪𖹫𖹬𖹭𖹮𖹯𖹰𖹱𖹲𖹳𖹴𖹵𖹶𖹷𖹸𖹹𖹺𖹻𖹼𖹽𖹾𖹿𖺻𖺼𖺽𖺾𖺿𖻀𖻁𖻂𖻃𖻄𖻅𖻆𖻇𖻈𖻉𖻊𖻋𖻌𖻍𖻎𖻏𖻐𖻑𖻒𖻓𞤢𞤣𞤤𞤥𞤦𞤧𞤨𞤩𞤪𞤫𞤬𞤭𞤮𞤯𞤰𞤱𞤲𞤳𞤴𞤵𞤶𞤷𞤸𞤹𞤺𞤻𞤼𞤽𞤾𞤿𞥀𞥁𞥂𞥃ß'
    )) AS c (letters, folded)
  CROSS JOIN regexp_replace(lower(normalize(given, NFKD) COLLATE "C"),
    '['
      '\u00AD\u0300-\u0344\u0346-\u036F\u0591-\u05BD\u05BF\u05C1\u05C2\u05C4\u05C5\u05C7\u0610-\u061A\u061C\u0640'
      '\u064B-\u065F\u0670\u06D6-\u06DC\u06DF-\u06E8\u06EA-\u06ED\u180B-\u180F\u1AB0-\u1AFF\u1DC0-\u1DFF\u200C-\u200F'
      '\u202A-\u202E\u2060-\u206F\u20D0-\u20FF\uFE00-\uFE0F\uFE20-\uFE2F\uFEFF\U0001F3FB-\U0001F3FF'
      '\U000E0000-\U000E0FFF'
      ']', '', 'g') AS plain (text)
  LEFT JOIN LATERAL (
    SELECT DISTINCT s.letter FROM string_to_table(regexp_replace(plain.text, '[\u0001-\u007F]', '', 'g'), NULL) AS s (letter)
    OFFSET 0 -- Each letter is looked up once.
  ) l ON strpos(c.letters COLLATE "C", l.letter) > 0
  GROUP BY plain.text) END;

-- The words of a text in their order. A `word` is what stands between separators; a `run` is of a script that has no spaces,
-- or of symbols such as emoji. What neither list names is part of a word.
CREATE FUNCTION service.search_pieces(given text) RETURNS TABLE (place bigint, word text, run text)
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
      '\uABEB\uFD3E\uFD3F\uFFF9-\uFFFD',
      '\u0E01-\u0E4E\u0E50-\u0E59\u0E80-\u0EFF\u1000-\u1049\u1050-\u109F\u1780-\u17D3\u17D7\u17DB-\u17FF\u1950-\u19DF'
      '\u1A20-\u1AAD\u20A0-\u20CF\u2190-\u2307\u230C-\u2328\u232B-\u2767\u2776-\u27E5\u27F0-\u2982\u2999-\u2BFF'
      '\u2E80-\u2FFF\u3004-\u3007\u3012\u3013\u3020-\u302F\u3031-\u303C\u303E-\u309F\u30A1-\u30FA\u30FC-\uA4CF'
      '\uA9E0-\uA9FF\uAA60-\uAADD\uF900-\uFAFF\U00011700-\U0001173B\U00016FE0-\U0001B2FF\U0001F000-\U0001FAFF'
      '\U00020000-\U0003FFFF'
    )) AS c (separators, runs),
    regexp_matches(service.search_fold(given) COLLATE "C",
      '([^' || c.separators || c.runs || ']+)|([' || c.runs || ']+)', 'g') WITH ORDINALITY AS m (parts, place);
END;

-- Each letter of a run with the one behind it: any part of a run is then a phrase.
CREATE FUNCTION service.search_pairs(run text) RETURNS TABLE (place bigint, pair text)
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
  SELECT c.place, c.letter || coalesce(lead(c.letter) OVER (ORDER BY c.place), '')
  FROM unnest(string_to_array(run, NULL)) WITH ORDINALITY AS c (letter, place);
END;

CREATE FUNCTION service.search_words(name text, description text) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
  SELECT coalesce(string_agg('''' || t.token || ''':' || t.place, ' ')::tsvector, ''::tsvector)
  FROM (
    SELECT x.token, least(row_number() OVER (ORDER BY p.place, x.place), 16383) AS place
    FROM service.search_pieces(left(coalesce(name, ''), 500) || ' ' || left(coalesce(description, ''), 4000)) p
    CROSS JOIN LATERAL (
      SELECT p.word AS token, 1::bigint AS place WHERE p.word IS NOT NULL
      UNION ALL
      SELECT s.pair, s.place FROM service.search_pairs(p.run) s) x) t;
END;

-- All of the first ten words. A word of three letters and more, or of a Hangul syllable, is also the beginning of one.
-- Null: the text has no word.
CREATE FUNCTION service.search_query(given text) RETURNS tsquery LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
  SELECT string_agg(CASE
      WHEN p.word IS NOT NULL THEN '''' || p.word || '''' ||
        CASE WHEN length(p.word) > 2 OR p.word COLLATE "C" ~ '[\uAC00-\uD7A3]' THEN ':*' ELSE '' END
      WHEN length(p.run) = 1 THEN '''' || p.run || ''':*'
      ELSE (SELECT '(' || string_agg('''' || s.pair || '''', ' <-> ' ORDER BY s.place) || ')'
        FROM service.search_pairs(left(p.run, 60)) s WHERE s.place < least(length(p.run), 60))
    END, ' & ' ORDER BY p.place)::tsquery
  FROM (SELECT * FROM service.search_pieces(left(given, 1000)) ORDER BY place LIMIT 10) p;
END;

-- Apart from the metadata, whose rows are written many times while their texts stay.
CREATE TABLE service.token_words (
  chain_id integer NOT NULL,
  contract bytea NOT NULL,
  token_id numeric(78,0) NOT NULL,
  words tsvector NOT NULL,
  PRIMARY KEY (chain_id, contract, token_id)
);
CREATE INDEX token_words_search ON service.token_words USING gin (words);

CREATE FUNCTION service.derive_words() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
  IF TG_OP = 'DELETE' OR (NEW.name IS NULL AND NEW.description IS NULL) THEN
    DELETE FROM service.token_words w
    WHERE w.chain_id = OLD.chain_id AND w.contract = OLD.contract AND w.token_id = OLD.token_id;
  ELSE
    INSERT INTO service.token_words (chain_id, contract, token_id, words)
    VALUES (NEW.chain_id, NEW.contract, NEW.token_id, service.search_words(NEW.name, NEW.description))
    ON CONFLICT (chain_id, contract, token_id) DO UPDATE SET words = excluded.words;
  END IF;
  RETURN NULL;
END $body$;
CREATE TRIGGER words_inserted AFTER INSERT ON service.token_metadata
  FOR EACH ROW WHEN (NEW.name IS NOT NULL OR NEW.description IS NOT NULL) EXECUTE FUNCTION service.derive_words();
CREATE TRIGGER words_updated AFTER UPDATE OF name, description ON service.token_metadata
  FOR EACH ROW WHEN (OLD.name IS DISTINCT FROM NEW.name OR OLD.description IS DISTINCT FROM NEW.description)
  EXECUTE FUNCTION service.derive_words();
CREATE TRIGGER words_deleted AFTER DELETE ON service.token_metadata
  FOR EACH ROW WHEN (OLD.name IS NOT NULL OR OLD.description IS NOT NULL) EXECUTE FUNCTION service.derive_words();

-- Matches among tokens that the worker has not yet given words: by the index of the version before, which has them cut at
-- other places. Once the worker is done, nothing is read or planned.
CREATE FUNCTION service.search_without_words(wanted tsquery, chains integer[], of_contract bytea, most integer)
RETURNS TABLE (chain_id integer, contract bytea, token_id numeric, rank real)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 1 AS $body$
BEGIN
  IF EXISTS (SELECT FROM service.rendering r WHERE r.relation = 'service.token_words' AND r.done_at IS NOT NULL) THEN
    RETURN;
  END IF;
  RETURN QUERY
    SELECT m.chain_id, m.contract, m.token_id, ts_rank(service.search_text(m.name, m.description), wanted)
    FROM service.token_metadata m
    WHERE service.search_text(m.name, m.description) @@ wanted AND (m.name IS NOT NULL OR m.description IS NOT NULL)
      AND m.chain_id = ANY (chains) AND (of_contract IS NULL OR m.contract = of_contract)
      AND NOT EXISTS (SELECT FROM service.token_words w
        WHERE w.chain_id = m.chain_id AND w.contract = m.contract AND w.token_id = m.token_id)
    LIMIT most;
END $body$;
