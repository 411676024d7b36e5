import type { SettingsInput } from "../../bin/launch/settings.ts";
import { cut, gif, glb, jpeg, LinkTo, mp4, png, riff, svg } from "./made-files.ts";

/** A token as it has to be: its document, and by members of the document the file that stands behind the link. */
export interface WantedToken {
  document: string;
  /** By dotted member: a path of the folder, or a text with paths in ⟨⟩ where links stand. */
  links: Record<string, string>;
}

export interface FolderCase {
  name: string;
  files: Record<string, string | Uint8Array | object>;
  settings?: Partial<SettingsInput>;
  /** By token id. What `links` does not name stays as it is in the document. */
  deployed?: WantedToken[];
  /** Texts that every served document's bytes have. */
  keeps?: string[];
  /** Links that lead out of the folder and stay. */
  outside?: string[];
  /** What has to be told although it is deployed. */
  warns?: RegExp;
  /** The file to mend, and why. */
  refused?: readonly [file: string, reason: RegExp];
  /** Where the console, which looks for pictures and documents in any folder, says something else. */
  inConsole?: "refused" | WantedToken[];
}

const cid = "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy";
const traits = { attributes: [{ trait_type: "Eyes", value: "Red" }] };
const doc = (image?: unknown, more: object = {}) => ({
  name: "Ape",
  description: "One of some.",
  ...(image === undefined ? {} : { image }),
  ...traits,
  ...more,
});
const token = (document: string, image?: string, more: Record<string, string> = {}): WantedToken => ({
  document,
  links: { ...(image === undefined ? {} : { image }), ...more },
});
/** One token, `metadata/0.json`, whose picture is `images/0.png`. */
const one = (image: unknown, more: object = {}) => ({ "images/0.png": png(), "metadata/0.json": doc(image, more) });
const oneToken = (more: Record<string, string> = {}) => [token("metadata/0.json", "images/0.png", more)];
/** Files by number, from the first to the last. */
const numbered = <T>(first: number, last: number, make: (number: number) => Record<string, T>): Record<string, T> =>
  Object.assign({}, ...Array.from({ length: last - first + 1 }, (_, at) => make(first + at)));
const refusedText = (name: string, bytes: string | Uint8Array, reason: RegExp): FolderCase => ({
  name,
  files: { "images/0.png": png(), "images/1.png": png(), "metadata/0.json": doc("0.png"), "metadata/1.json": bytes },
  refused: ["metadata/1.json", reason],
});
const refusedPicture = (name: string, path: string, bytes: string | Uint8Array, reason: RegExp): FolderCase => ({
  name,
  files: { "metadata/0.json": doc(path), [`images/${path}`]: bytes },
  refused: [`images/${path}`, reason],
});
/** The document names `name`; `path` is its picture, among others that are not. */
const named = (what: string, name: string, path: string | null, ...others: string[]): FolderCase => ({
  name: what,
  files: {
    ...Object.fromEntries([...(path === null ? [] : [path]), ...others].map((file) => [file, png()])),
    "metadata/0.json": doc(name),
  },
  ...(path === null
    ? { refused: ["metadata/0.json", /image names/] as const }
    : { deployed: [token("metadata/0.json", path)] }),
});

const generators: FolderCase[] = [
  {
    name: "HashLips, Ethereum: counted from 1, with the collected list",
    files: {
      ...numbered(1, 3, (id) => ({
        [`build/images/${id}.png`]: png(),
        [`build/json/${id}.json`]: {
          ...doc(`ipfs://NewUriToReplace/${id}.png`, { dna: "f0e1", edition: id, date: 1641234567890 }),
          compiler: "HashLips Art Engine",
        },
      })),
      "build/json/_metadata.json": [{ name: "all" }],
    },
    deployed: [1, 2, 3].map((id) => token(`build/json/${id}.json`, `build/images/${id}.png`)),
    warns: /left out.*_metadata\.json/,
  },
  {
    name: "HashLips, the build folder itself, counted from 0",
    files: numbered(0, 1, (id) => ({
      [`images/${id}.png`]: png(),
      [`json/${id}.json`]: doc(`ipfs://NewUriToReplace/${id}.png`, { edition: id }),
    })),
    deployed: [0, 1].map((id) => token(`json/${id}.json`, `images/${id}.png`)),
  },
  {
    name: "HashLips, Solana: names alone, and properties.files",
    files: {
      ...numbered(0, 1, (id) => ({
        [`build/images/${id}.png`]: png(),
        [`build/json/${id}.json`]: doc(`${id}.png`, {
          symbol: "YC",
          seller_fee_basis_points: 1000,
          properties: {
            files: [{ uri: `${id}.png`, type: "image/png" }],
            category: "image",
            creators: [{ address: "7fXN", share: 100 }],
          },
        }),
      })),
      "build/json/_metadata.json": [],
    },
    deployed: [0, 1].map((id) =>
      token(`build/json/${id}.json`, `build/images/${id}.png`, { "properties.files.0.uri": `build/images/${id}.png` }),
    ),
  },
  {
    name: "HashLips with gifs beside the pictures",
    files: numbered(1, 2, (id) => ({
      [`build/images/${id}.png`]: png(),
      [`build/gifs/${id}.gif`]: gif(),
      [`build/json/${id}.json`]: doc(`ipfs://NewUriToReplace/${id}.gif`),
    })),
    deployed: [1, 2].map((id) => token(`build/json/${id}.json`, `build/gifs/${id}.gif`)),
  },
  {
    name: "HashLips whose last picture was not copied",
    files: {
      ...numbered(1, 3, (id) => ({ [`build/json/${id}.json`]: doc(`ipfs://NewUriToReplace/${id}.png`) })),
      ...numbered(1, 2, (id) => ({ [`build/images/${id}.png`]: png() })),
    },
    refused: ["build/json/3.json", /image names "ipfs:\/\/NewUriToReplace\/3\.png"/],
  },
  {
    name: "NFT Art Generator: images and json, with one metadata.json of all",
    files: {
      ...numbered(1, 2, (id) => ({
        [`images/${id}.png`]: png(),
        [`json/${id}.json`]: doc(`ipfs://REPLACE_WITH_YOUR_CID/${id}.png`),
      })),
      "json/metadata.json": [{ name: "all" }],
    },
    deployed: [1, 2].map((id) => token(`json/${id}.json`, `images/${id}.png`)),
  },
  {
    name: "Bueno: documents without extension, folders in the placeholder",
    files: numbered(0, 1, (id) => ({
      [`images/${id}.png`]: png(),
      [`metadata/${id}`]: doc(`ipfs://__CID__/images/${id}.png`),
    })),
    deployed: [0, 1].map((id) => token(`metadata/${id}`, `images/${id}.png`)),
  },
  {
    name: "Sugar: all in assets, with the collection's own",
    files: {
      ...numbered(0, 1, (id) => ({
        [`assets/${id}.png`]: png(),
        [`assets/${id}.json`]: doc(`${id}.png`, { properties: { files: [{ uri: `${id}.png`, type: "image/png" }] } }),
      })),
      "assets/collection.json": doc("collection.png"),
      "assets/collection.png": png(),
    },
    deployed: [0, 1].map((id) =>
      token(`assets/${id}.json`, `assets/${id}.png`, { "properties.files.0.uri": `assets/${id}.png` }),
    ),
    warns: /assets\/collection\.json/,
  },
  {
    name: "Sugar with a video",
    files: {
      "assets/0.png": png(),
      "assets/0.mp4": mp4(),
      "assets/0.json": doc("0.png", {
        animation_url: "0.mp4",
        properties: { files: [{ uri: "0.png" }, { uri: "0.mp4?ext=mp4", type: "video/mp4" }], category: "video" },
      }),
    },
    deployed: [
      token("assets/0.json", "assets/0.png", {
        animation_url: "assets/0.mp4",
        "properties.files.0.uri": "assets/0.png",
        "properties.files.1.uri": "assets/0.mp4",
      }),
    ],
  },
  {
    name: "Sugar without one of the pictures",
    files: { "assets/0.png": png(), "assets/0.json": doc("0.png"), "assets/1.json": doc("1.png") },
    refused: ["assets/1.json", /image names "1\.png"/],
  },
  {
    name: "ThirdWeb's batch: pictures and one list of all",
    files: { "0.png": png(), "1.png": png(), "metadata.json": [doc("0.png"), doc("1.png")] },
    refused: ["FOLDER", /it needs the folders images\/ and metadata\//],
  },
  {
    name: "OpenSea's drop: documents made of the CSV, which lies beside",
    inConsole: "refused",
    files: {
      ...numbered(1, 2, (id) => ({
        [`images/${id}.png`]: png(),
        [`metadata/${id}.json`]: { tokenID: id, name: `#${id}`, description: "", image: `${id}.png`, attributes: [] },
      })),
      "metadata-file.csv": "tokenID,name,description,file_name\n1,#1,,1.png\n",
    },
    deployed: [1, 2].map((id) => token(`metadata/${id}.json`, `images/${id}.png`)),
  },
  {
    name: "OpenSea's drop: the CSV among the documents",
    files: { ...one("0.png"), "metadata/metadata-file.csv": "tokenID,name\n" },
    refused: ["metadata/metadata-file.csv", /names are no token numbers/],
  },
  {
    name: "OpenSea's drop: file_name as the table had it, no image",
    files: { "images/0.png": png(), "images/1.png": png(), "metadata/0.json": doc(undefined, { file_name: "0.png" }) },
    deployed: [token("metadata/0.json", "images/0.png", { file_name: "⟨⟩0.png" })],
    warns: /images\/1\.png/,
  },
  {
    name: "Pinata's gateway before the placeholder, image_url alone",
    files: {
      "images/0.png": png(),
      "images/5.png": png(),
      "metadata/0.json": doc(undefined, {
        image_url: "https://gateway.pinata.cloud/ipfs/NewUriToReplace/5.png",
      }),
    },
    deployed: [token("metadata/0.json", undefined, { image_url: "images/5.png" })],
  },
  {
    name: "a generator that wrote its own paths",
    files: {
      "images/0.png": png(),
      "images/1.png": png(),
      "metadata/0.json": doc("C:\\Users\\me\\out\\images\\0.png"),
      "metadata/1.json": doc("output/Ape/images/1.png"),
    },
    deployed: [0, 1].map((id) => token(`metadata/${id}.json`, `images/${id}.png`)),
  },
  {
    name: "Tezos: artifactUri, displayUri, formats",
    files: {
      ...one("0.png", {
        artifactUri: "ipfs://NewUriToReplace/0.mp4",
        thumbnailUri: "thumb.png",
        formats: [{ uri: "0.mp4", mimeType: "video/mp4" }],
      }),
      "images/thumb.png": png(),
      "videos/0.mp4": mp4(),
    },
    deployed: oneToken({
      artifactUri: "videos/0.mp4",
      thumbnailUri: "images/thumb.png",
      "formats.0.uri": "videos/0.mp4",
    }),
  },
  {
    name: "Zora: content.uri, of a file that is not there",
    files: one("0.png", { content: { mime: "video/mp4", uri: "0.mp4" } }),
    refused: ["metadata/0.json", /content\.uri names "0\.mp4"/],
  },
  {
    name: "Photoshop: layers' names with spaces, sources beside the exports",
    inConsole: "refused",
    files: {
      "images/_0000_Layer 1.png": png(),
      "images/0.psd": "8BPS",
      "metadata/0.json": doc("_0000_Layer 1.png"),
    },
    deployed: [token("metadata/0.json", "images/_0000_Layer 1.png")],
    warns: /images\/0\.psd/,
  },
  {
    name: "Photoshop: the source beside the export, no image in the document",
    inConsole: "refused",
    files: { ...one(undefined), "images/0.psd": "8BPS" },
    deployed: oneToken(),
    warns: /images\/0\.psd/,
  },
  refusedPicture(
    "Photoshop: the document names the source",
    "0.psd",
    Buffer.concat([Buffer.from("8BPS\0\x01\0\0\0\0\0\0\0\x03\0\0\0\x08\0\0\0\x08\0\x08\0\x03"), Buffer.alloc(16)]),
    // Which of the two depends on what else the process reads pictures for.
    /no browser shows|cannot be read/,
  ),
  {
    name: "a copy that the file manager made",
    files: { ...one("0.png"), "metadata/0 copy.json": doc("0.png") },
    refused: ["metadata/0 copy.json", /names are no token numbers/],
  },
  {
    name: "folders with capital letters",
    files: { "Images/0.png": png(), "Metadata/0.json": doc("images/0.png") },
    deployed: [token("Metadata/0.json", "Images/0.png")],
  },
  {
    name: "an archive that was unpacked into a folder of its own",
    inConsole: [token("art/metadata/0.json", "art/images/0.png")],
    files: { "art/images/0.png": png(), "art/metadata/0.json": doc("0.png") },
    refused: ["FOLDER", /it needs the folders images\/ and metadata\//],
  },
  {
    name: "a document in a folder for each token",
    files: { "images/0.png": png(), "metadata/0/metadata.json": doc("0.png") },
    refused: ["metadata", /there is no document of a token/],
  },
];

const systems: FolderCase[] = [
  {
    name: "macOS: an archive with its resource forks",
    files: {
      ...one("0.png"),
      "__MACOSX/images/._0.png": "\0\x05\x16\x07",
      "images/.DS_Store": "\0\0\0\x01Bud1",
      "images/._0.png": "\0\x05\x16\x07",
      "metadata/._0.json": "\0\x05\x16\x07",
      "metadata/.DS_Store": "\0\0\0\x01Bud1",
      "metadata/__MACOSX/._0.json": "\0\x05\x16\x07",
      "images/Icon\r": "",
    },
    deployed: oneToken(),
    warns: /left out/,
  },
  {
    name: "Windows: desktop.ini and Thumbs.db",
    files: {
      ...one("0.png"),
      "images/Thumbs.db": "x",
      "images/desktop.ini": "[.ShellClassInfo]",
      "metadata/Desktop.ini": "[.ShellClassInfo]",
    },
    deployed: oneToken(),
    warns: /metadata\/Desktop\.ini/,
  },
  {
    name: "Windows files that were copied into Linux",
    files: {
      ...one("0.png"),
      "images/0.png:Zone.Identifier": "[ZoneTransfer]\r\nZoneId=3\r\n",
      "metadata/0.json:Zone.Identifier": "[ZoneTransfer]\r\nZoneId=3\r\n",
    },
    deployed: oneToken(),
    warns: /metadata\/0\.json:Zone\.Identifier/,
  },
  {
    name: "a disk station's thumbnails",
    files: {
      ...one(undefined),
      "images/@eaDir/0.png/SYNOPHOTO_THUMB_M.png": png(),
      "metadata/@eaDir/0.json@SynoEAStream": "x",
    },
    deployed: oneToken(),
    warns: /metadata\/@eaDir/,
  },
  {
    name: "an editor's backup among the documents",
    files: { ...one("0.png"), "metadata/0.json~": "{}" },
    refused: ["metadata/0.json~", /names are no token numbers/],
  },
  {
    name: "generators' lists with an underscore",
    files: { ...one("0.png"), "metadata/_ipfsMetas.json": [], "metadata/_rarity.json": {} },
    deployed: oneToken(),
    warns: /metadata\/_ipfsMetas\.json/,
  },
  {
    name: "a picture that is in the cloud alone",
    files: { ...one("0.png"), "images/.1.png.icloud": "bplist00", "metadata/1.json": doc("1.png") },
    refused: ["metadata/1.json", /image names "1\.png"/],
  },
  {
    name: "files and folders that are links",
    files: {
      "store/p.png": png(),
      "store/d.json": doc("0.png"),
      "store/videos/0.mp4": mp4(),
      "images/0.png": new LinkTo("../store/p.png"),
      "metadata/0.json": doc("0.png", { animation_url: "0.mp4" }),
      "metadata/1.json": new LinkTo("../store/d.json"),
      videos: new LinkTo("store/videos"),
    },
    deployed: [
      token("metadata/0.json", "store/p.png", { animation_url: "store/videos/0.mp4" }),
      token("store/d.json", "store/p.png"),
    ],
  },
  {
    name: "a picture that is a link to nothing",
    files: { ...one("0.png"), "images/1.png": new LinkTo("../gone.png") },
    refused: ["images/1.png", /link to nothing/],
  },
  {
    name: "a folder that links to itself",
    files: { ...one("0.png"), "images/again": new LinkTo(".") },
    deployed: oneToken(),
  },
];

const name = '{"name":"Étoile","image":"0.png"}';
const settings = (text: string | Uint8Array) => ({ ...one("0.png"), "launch.json": text });
const texts: FolderCase[] = [
  {
    name: "launch.json in UTF-16",
    files: settings(Buffer.from('\ufeff{"chain":"goerli"}', "utf16le")),
    refused: ["launch.json", /not in UTF-8/],
  },
  {
    name: "launch.json with a comma too many",
    files: settings('{"chain":"goerli",}'),
    refused: ["launch.json", /no JSON/],
  },
  {
    name: "launch.json with a member that is misspelt",
    files: one("0.png"),
    settings: { teamReserve: 5 } as object,
    refused: ["launch.json", /unknown: teamReserve/],
  },
  {
    name: "a byte order mark in every document",
    files: { "images/0.png": png(), "metadata/0.json": `\ufeff${JSON.stringify(doc("0.png"))}` },
    deployed: oneToken(),
  },
  refusedText("UTF-16 as Windows saves Unicode", Buffer.from(`\ufeff${name}`, "utf16le"), /not in UTF-8/),
  refusedText("UTF-16, the other way round", Buffer.from(`\ufeff${name}`, "utf16le").swap16(), /not in UTF-8/),
  refusedText("UTF-16 without a mark", Buffer.from(name.replace("É", "E"), "utf16le"), /no JSON object/),
  refusedText("Latin-1", Buffer.from(name, "latin1"), /not in UTF-8/),
  refusedText("an empty document", "", /no JSON object/),
  refusedText("a document that is cut", JSON.stringify(doc("1.png")).slice(0, -9), /no JSON object/),
  refusedText("a comma too many", '{"name":"a","image":"1.png",}', /no JSON object/),
  refusedText("NaN as Python writes it", '{"name":"a","image":"1.png","rank":NaN}', /no JSON object/),
  refusedText("a document in a list", '[{"name":"a","image":"1.png"}]', /no JSON object/),
  {
    name: "numbers that are no doubles, members twice, other spaces",
    files: {
      "images/0.png": png(),
      "metadata/0.json": `{\r\n\t"name" : "Ape", "id":9007199254740993, "e":1e400, "a":1.0, "a":-0,\r\n"image":"0.png","attributes":[]}\r\n`,
    },
    deployed: oneToken(),
    keeps: [
      '{\r\n\t"name" : "Ape", "id":9007199254740993, "e":1e400, "a":1.0, "a":-0,\r\n"image":"',
      '"attributes":[]}\r\n',
    ],
  },
  {
    name: "a member that is written with escapes, and one that is like its first letters",
    files: {
      "images/0.png": png(),
      "metadata/0.json": String.raw`{"name":"Ape","\u0069mage":"0.png","imagery":"0.png","attributes":[]}`,
    },
    deployed: oneToken(),
    keeps: ['"imagery":"0.png"'],
  },
  {
    name: "all scripts, half a pair, escapes of every kind",
    files: {
      "images/0.png": png(),
      "metadata/0.json": String.raw`{"name":"猿 🦍 \ud83e\udd8d \ud800","image":"ipfs:\/\/NewUriToReplace\/0.png","attributes":[]}`,
    },
    deployed: oneToken(),
    keeps: [String.raw`"name":"猿 🦍 \ud83e\udd8d \ud800"`],
  },
];

const names: FolderCase[] = [
  named("decomposed on disk, composed in the document", "\u00e9toile.png", "images/e\u0301toile.png"),
  named("composed on disk, decomposed in the document", "e\u0301toile.png", "images/\u00e9toile.png"),
  named("both spellings on disk", "e\u0301toile.png", "images/e\u0301toile.png", "images/\u00e9toile.png"),
  named("a line break in a name", "a\nb.png", "images/a\nb.png", "images/a.png"),
  named("# in a name", "Wookz#525.png", "images/Wookz#525.png", "images/Wookz.png"),
  named("# in a name that is not there, beside what comes before it", "Odd#1.png", null, "images/Odd.png"),
  named("? in a name that is not there, beside what comes before it", "Odd?1.png", null, "images/Odd.png"),
  named("? in a name", "ipfs://NewUriToReplace/what?.png", "images/what?.png", "images/what.png"),
  named("% in a name", "100%.png", "images/100%.png", "images/100.png"),
  named("a space that is escaped", "ipfs://NewUriToReplace/My%20Ape%201.png", "images/My Ape 1.png", "images/My.png"),
  named("an escape that is the name", "My%20Ape.png", "images/My%20Ape.png", "images/My Ape.png"),
  named("spaces and parentheses", "ipfs://NewUriToReplace/Ape (1).png", "images/Ape (1).png", "images/Ape.png"),
  named("an extension in capitals on disk", "ipfs://NewUriToReplace/0.png", "images/0.PNG"),
  named("an extension in capitals in the document", "0.PNG", "images/0.png"),
  named("two files that differ by case, one named exactly", "0.PNG", "images/0.PNG", "images/0.png"),
  named("two files that differ by case, neither named exactly", "0.Png", null, "images/0.PNG", "images/0.png"),
  named("an emoji and quotes", 'Ape "🦍".png', 'images/Ape "🦍".png'),
  named("a name without extension", "ipfs://NewUriToReplace/0", "images/0.png"),
  named("a name without extension, of two files", "ipfs://NewUriToReplace/0", null, "images/0.png", "images/0.jpg"),
  { ...named("a picture without extension", "0", "images/0"), inConsole: "refused" },
  {
    name: "a name with a space in a member of one's own",
    files: {
      "images/Ape.png": png(),
      "images/Ape 1.png": png(),
      "metadata/0.json": doc("Ape.png", { properties: { preview: "ipfs://NewUriToReplace/Ape 1.png" } }),
    },
    deployed: [token("metadata/0.json", "images/Ape.png", { "properties.preview": "images/Ape 1.png" })],
  },
];

const numbers: FolderCase[] = [
  {
    name: "leading zeros, pictures named",
    files: numbered(1, 2, (id) => ({
      [`images/000${id}.png`]: png(),
      [`metadata/000${id}.json`]: doc(`ipfs://NewUriToReplace/000${id}.png`),
    })),
    deployed: [1, 2].map((id) => token(`metadata/000${id}.json`, `images/000${id}.png`)),
  },
  {
    name: "leading zeros, pictures not named",
    files: numbered(0, 1, (id) => ({ [`images/00${id}.png`]: png(), [`metadata/00${id}.json`]: doc() })),
    deployed: [0, 1].map((id) => token(`metadata/00${id}.json`, `images/00${id}.png`)),
  },
  {
    name: "a picture with leading zeros beside one without",
    files: { "images/1.png": png(), "images/01.png": png(), "metadata/1.json": doc() },
    refused: ["metadata/1.json", /no picture, or more than one/],
  },
  {
    name: "a gap",
    files: { ...one("0.png"), "images/2.png": png(), "metadata/2.json": doc("2.png") },
    refused: ["1.json", /documents are missing/],
  },
  {
    name: "a gap, counted from 1",
    files: numbered(1, 2, (at) => ({ [`images/${at * 2 - 1}.png`]: png(), [`metadata/${at * 2 - 1}.json`]: doc() })),
    refused: ["2.json", /documents are missing/],
  },
  {
    name: "the second half of a collection",
    files: numbered(5, 6, (id) => ({ [`images/${id}.png`]: png(), [`metadata/${id}.json`]: doc() })),
    refused: ["0.json", /documents are missing/],
  },
  {
    name: "one number twice, with and without zero",
    files: { ...one("0.png"), "metadata/00.json": doc("0.png") },
    refused: ["metadata/00.json", /same number/],
  },
  {
    name: "one number twice, with and without extension",
    files: { ...one("0.png"), "metadata/0": doc("0.png") },
    refused: ["metadata/0", /same number/],
  },
  {
    name: "documents from 1, pictures from 0, named",
    files: numbered(0, 2, (id) => ({ [`images/${id}.png`]: png(), [`metadata/${id + 1}.json`]: doc(`${id}.png`) })),
    deployed: [0, 1, 2].map((id) => token(`metadata/${id + 1}.json`, `images/${id}.png`)),
    warns: /1\.json becomes token 0/,
  },
  {
    name: "documents from 1, pictures from 0, not named",
    files: numbered(0, 2, (id) => ({ [`images/${id}.png`]: png(), [`metadata/${id + 1}.json`]: doc() })),
    refused: ["metadata/3.json", /no picture/],
  },
  {
    name: "a number of eight digits",
    files: { ...one("0.png"), "metadata/10000000.json": doc("0.png") },
    refused: ["metadata/10000000.json", /names are no token numbers/],
  },
  {
    name: "fewer documents than launch.json says",
    files: one("0.png"),
    settings: { maxSupply: 10 },
    refused: ["launch.json", /maxSupply is 10, but there are 1 documents/],
  },
];

const pictures: FolderCase[] = [
  {
    name: "1.png and 1.jpg, none named",
    files: { "images/1.png": png(), "images/1.jpg": jpeg(), "metadata/1.json": doc() },
    refused: ["metadata/1.json", /more than one.*images\/1\.jpg and images\/1\.png/],
  },
  {
    name: "1.png and 1.jpg, the second named",
    files: { "images/1.png": png(), "images/1.jpg": jpeg(), "metadata/1.json": doc("1.jpg") },
    deployed: [token("metadata/1.json", "images/1.jpg")],
  },
  {
    name: "every kind of picture that browsers show",
    files: {
      ...{ "images/0.png": png(), "images/1.jpg": jpeg(), "images/2.gif": gif(), "images/3.webp": riff() },
      "images/4.svg": svg("<path d='M0 0h8v8z'/>"),
      ...numbered(0, 4, (id) => ({ [`metadata/${id}.json`]: doc() })),
    },
    deployed: ["0.png", "1.jpg", "2.gif", "3.webp", "4.svg"].map((path, id) =>
      token(`metadata/${id}.json`, `images/${path}`),
    ),
  },
  {
    name: "documents in the folder of the pictures, too",
    inConsole: "refused",
    files: { ...one(undefined), "images/0.json": doc("0.png") },
    deployed: oneToken(),
  },
  named("a picture in a folder below, named with it", "rare/0.png", "images/rare/0.png", "images/0.png"),
  {
    ...named("a picture in a folder below, named without it", "0.png", null, "images/rare/0.png"),
    inConsole: [token("metadata/0.json", "images/rare/0.png")],
  },
  named("a picture outside of its folder, named with a way up", "../../secret.png", null, "images/0.png"),
  {
    name: "a document that was copied from its neighbour",
    files: numbered(0, 2, (id) => ({
      [`images/${id}.png`]: png(),
      [`metadata/${id}.json`]: doc(`ipfs://NewUriToReplace/${id === 2 ? 1 : id}.png`),
    })),
    refused: ["metadata/2.json", /images\/1\.png, which is the picture of metadata\/1\.json.*images\/2\.png/],
  },
  {
    name: "one picture for all",
    files: {
      "images/egg.png": png(),
      ...numbered(0, 2, (id) => ({ [`metadata/${id}.json`]: doc("ipfs://NewUriToReplace/egg.png") })),
    },
    deployed: [0, 1, 2].map((id) => token(`metadata/${id}.json`, "images/egg.png")),
  },
  {
    name: "shuffled: each document names another number's picture",
    files: numbered(0, 2, (id) => ({
      [`images/${id}.png`]: png(),
      [`metadata/${id}.json`]: doc(`${(id + 1) % 3}.png`),
    })),
    deployed: [0, 1, 2].map((id) => token(`metadata/${id}.json`, `images/${(id + 1) % 3}.png`)),
  },
  {
    name: "a picture for two tokens, of which one has none",
    files: { ...one("0.png"), "metadata/1.json": doc("0.png") },
    deployed: [token("metadata/0.json", "images/0.png"), token("metadata/1.json", "images/0.png")],
    warns: /metadata\/1\.json: image names images\/0\.png, which is the picture of metadata\/0\.json/,
  },
  refusedPicture("an empty picture", "0.png", "", /is empty/),
  refusedPicture("a PNG that is cut", "0.png", cut(png()), /cut short/),
  refusedPicture("a PNG of which the end was never written", "0.png", cut(png(), true), /cut short/),
  refusedPicture("a JPEG that is cut", "0.jpg", cut(jpeg()), /cut short/),
  refusedPicture("a GIF that is cut", "0.gif", cut(gif()), /cut short/),
  refusedPicture("a WebP that is cut", "0.webp", cut(riff()), /cut short/),
  refusedPicture("an SVG that is cut", "0.svg", svg("<path d='M0 0h8v8z'/>").slice(0, -12), /cut short/),
  refusedPicture("a page that was saved as a picture", "0.png", "<!DOCTYPE html><p>429</p>", /cannot be read/),
  refusedPicture("bytes of no kind", "0.png", Buffer.alloc(64, 7), /cannot be read/),
  refusedPicture("a text as a picture", "0.txt", "ape", /no picture/),
  refusedPicture("an SVG of layers in other files", "0.svg", svg('<image href="body.png"/>'), /names body\.png/),
  {
    name: "a PNG with bytes after its end, a JPEG whose preview is a whole JPEG",
    files: {
      "images/0.png": Buffer.concat([png(), Buffer.from("made by")]),
      "images/1.jpg": jpeg(jpeg().subarray(0, 600)),
      "metadata/0.json": doc("0.png"),
      "metadata/1.json": doc("1.jpg"),
    },
    deployed: [token("metadata/0.json", "images/0.png"), token("metadata/1.json", "images/1.jpg")],
  },
  {
    name: "a placeholder with a picture, shown until the reveal",
    files: { ...one("0.png"), "hidden.png": png() },
    settings: { reveal: "later", placeholder: { name: "Egg", image: "hidden.png" } },
    deployed: oneToken(),
  },
  {
    name: "a placeholder whose picture is cut",
    files: { ...one("0.png"), "hidden.png": cut(png()) },
    settings: { reveal: "later", placeholder: { name: "Egg", image: "hidden.png" } },
    refused: ["hidden.png", /cut short/],
  },
];

const page = "<!DOCTYPE html><body><canvas></canvas><script>draw()</script>";
const animations: FolderCase[] = [
  {
    name: "video, model and page, each in a folder of its kind",
    files: {
      ...numbered(0, 2, (id) => ({ [`images/${id}.png`]: png() })),
      ...{ "videos/0.mp4": mp4(), "models/1.glb": glb(), "animations/2.html": page },
      "metadata/0.json": doc("0.png", { animation_url: "ipfs://NewUriToReplace/0.mp4" }),
      "metadata/1.json": doc("1.png", { animation_url: "models/1.glb" }),
      "metadata/2.json": doc("2.png", { animation_url: "2.html" }),
    },
    deployed: ["videos/0.mp4", "models/1.glb", "animations/2.html"].map((path, id) =>
      token(`metadata/${id}.json`, `images/${id}.png`, { animation_url: path }),
    ),
  },
  {
    name: "a video that is not there",
    files: one("0.png", { animation_url: "0.mp4" }),
    refused: ["metadata/0.json", /animation_url names "0\.mp4"/],
  },
  {
    name: "a video named without extension, beside a picture of that name",
    files: { ...one("0.png", { animation_url: "ipfs://NewUriToReplace/0" }), "videos/0.mp4": mp4() },
    refused: ["metadata/0.json", /animation_url names "ipfs:\/\/NewUriToReplace\/0"/],
  },
  {
    name: "two videos of one name in two folders",
    files: { ...one("0.png", { animation_url: "0.mp4" }), "images/0.mp4": mp4(), "videos/0.mp4": mp4() },
    refused: ["metadata/0.json", /animation_url names "0\.mp4".*images\/0\.mp4 and videos\/0\.mp4/],
  },
  {
    name: "two videos of one name, named with the folder",
    files: { ...one("0.png", { animation_url: "videos/0.mp4" }), "images/0.mp4": mp4(), "videos/0.mp4": mp4() },
    deployed: oneToken({ animation_url: "videos/0.mp4" }),
  },
  {
    name: "a video that is cut",
    files: { ...one("0.png", { animation_url: "0.mp4" }), "videos/0.mp4": cut(mp4()) },
    refused: ["videos/0.mp4", /cut short/],
  },
  {
    name: "a model that is cut",
    files: { ...one("0.png", { animation_url: "0.glb" }), "models/0.glb": cut(glb()) },
    refused: ["models/0.glb", /cut short/],
  },
  {
    name: "a page that is given each token's own seed",
    files: {
      "images/0.png": png(),
      "animations/view.html": page,
      "metadata/0.json": doc("0.png", { animation_url: "ipfs://NewUriToReplace/view.html?seed=5&id=0" }),
    },
    deployed: oneToken({ animation_url: "⟨animations/view.html⟩?seed=5&id=0" }),
  },
  {
    name: "a page of an error in the place of a video",
    files: { ...one("0.png", { animation_url: "0.mp4" }), "videos/0.mp4": "<!DOCTYPE html><h1>404</h1>" },
    refused: ["videos/0.mp4", /is a text/],
  },
  {
    name: "what stands for a large file in Git",
    files: {
      ...one("0.png", { animation_url: "0.glb" }),
      "models/0.glb": "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n",
    },
    refused: ["models/0.glb", /is a text/],
  },
  {
    name: "a model whose buffers are other files",
    files: {
      ...one("0.png", { animation_url: "0.gltf" }),
      "models/0.gltf": { asset: { version: "2.0" }, buffers: [{ uri: "0.bin", byteLength: 4 }] },
      "models/0.bin": "data",
    },
    refused: ["models/0.gltf", /names 0\.bin/],
  },
  {
    name: "a page whose script is another file",
    files: {
      ...one("0.png", { animation_url: "0.html" }),
      "animations/0.html": '<!DOCTYPE html><script src="sketch.js"></script>',
      "animations/sketch.js": "draw()",
    },
    refused: ["animations/0.html", /names sketch\.js/],
  },
];

const links: FolderCase[] = [
  {
    name: "links that stay: https, http, IPFS elsewhere, data",
    files: {
      "metadata/0.json": doc("https://example.org/0.png"),
      "metadata/1.json": doc("http://example.org/1.png"),
      "metadata/2.json": doc(`ipfs://${cid}/2.png`),
      "metadata/3.json": doc(`data:image/png;base64,${png().toString("base64")}`),
      "metadata/4.json": doc(undefined, { image_data: svg("<path d='M0 0h8v8z'/>") }),
      "metadata/5.json": doc("https://[2606:4700:4700::1111]/5.png"),
      "images/unused.png": png(),
    },
    deployed: [0, 1, 2, 3, 4, 5].map((id) => token(`metadata/${id}.json`)),
    outside: [
      "https://example.org/0.png",
      "http://example.org/1.png",
      `ipfs://${cid}/2.png`,
      "https://[2606:4700:4700::1111]/5.png",
    ],
  },
  {
    name: "a data: link whose picture is cut",
    files: { "images/x.png": png(), "metadata/0.json": doc(`data:image/png;base64,${cut(png()).toString("base64")}`) },
    refused: ["metadata/0.json", /image is a data: link whose picture/],
  },
  {
    name: "an SVG's text where its link belongs",
    files: one(svg("<path d='M0 0h8v8z'/>")),
    refused: ["metadata/0.json", /image names "<svg/],
  },
  {
    name: "a server on one's own machine, with the file at hand",
    files: one("http://127.0.0.1:5500/build/images/0.png"),
    deployed: oneToken(),
  },
  {
    name: "a server on one's own machine, without the file",
    files: one("http://localhost:5500/9.png"),
    refused: ["metadata/0.json", /image names "http:\/\/localhost:5500\/9\.png"/],
  },
  {
    name: "a CID of X, with the file at hand",
    files: one("ipfs://QmXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX/0.png"),
    deployed: oneToken(),
  },
  {
    name: "a CID that was cut to save room, without the file",
    files: one("ipfs://bafybei…/9.png"),
    refused: ["metadata/0.json", /image names "ipfs:\/\/bafybei/],
  },
  {
    name: "{id} behind a CID",
    files: one(`ipfs://${cid}/{id}.png`),
    refused: ["metadata/0.json", /image names .*\{id\}\.png/],
  },
  {
    name: "a template that was not filled in, with the file at hand",
    files: one("ipfs://\x24{CID}/0.png"),
    deployed: oneToken(),
  },
  {
    name: "placeholders in strings of every depth",
    files: {
      ...one("ipfs://NewUriToReplace/0.png", {
        description: 'See ipfs://NewUriToReplace/1.png. And "ipfs://<CID>/0.png"!',
        external_url: "https://ipfs.io/ipfs/NewUriToReplace/0.png",
        views: [{ deep: ["https://viewer.example/?of=ipfs://NewUriToReplace/1.png&z=1"] }],
      }),
      "images/1.png": png(),
    },
    deployed: oneToken({
      description: 'See ⟨images/1.png⟩. And "⟨images/0.png⟩"!',
      external_url: "images/0.png",
      "views.0.deep.0": "https://viewer.example/?of=⟨images/1.png⟩&z=1",
    }),
  },
  {
    name: "a placeholder in a description, without the file",
    files: one("0.png", { description: "at ipfs://<CID>/9.png" }),
    refused: ["metadata/0.json", /description names "ipfs:\/\/<CID>\/9\.png"/],
  },
  {
    name: "a name with a space in a longer text, beside what comes before the space",
    files: {
      ...one("Ape.png", { description: "see ipfs://NewUriToReplace/Ape (1).png there" }),
      "images/Ape.png": png(),
    },
    refused: ["metadata/0.json", /description names "ipfs:\/\/NewUriToReplace\/Ape"/],
  },
  {
    name: "a placeholder in the gateway of a member of one's own, without the file",
    files: one("0.png", { properties: { hd: "https://ipfs.io/ipfs/NewUriToReplace/9.png" } }),
    refused: ["metadata/0.json", /properties\.hd names/],
  },
  { name: "an image in a list", files: one(["0.png"]), refused: ["metadata/0.json", /image is no text/] },
  { name: "an image with its kind", files: one({ uri: "0.png" }), refused: ["metadata/0.json", /image is no text/] },
  { name: "an image that is a number", files: one(0), refused: ["metadata/0.json", /image is no text/] },
];

/** Folders as people have them, and what has to become of each, written by hand. */
export const folderCases: readonly FolderCase[] = [
  ...generators,
  ...systems,
  ...texts,
  ...names,
  ...numbers,
  ...pictures,
  ...animations,
  ...links,
];
