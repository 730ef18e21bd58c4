// Replays @NAME@ in WebAssembly: node replay.mjs [vectors.bin]; exit code 0 where every answer has the run's bits.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const vectors = readFileSync(process.argv[2] ?? join(here, "vectors.bin"));
const { instance } = await WebAssembly.instantiate(readFileSync(join(here, "wasm32", "@NAME@.wasm")), {});
const law = instance.exports;
const head = new BigInt64Array(vectors.buffer.slice(vectors.byteOffset, vectors.byteOffset + 32));
const [ticks, given, taken] = [Number(head[0]), Number(head[1]), Number(head[2])];
const base = (Number(law.__heap_base.value) + 15) & ~15;
const state = base, input = state + @STATE_BYTES@, output = input + given;
const missing = output + taken - law.memory.buffer.byteLength;
if (missing > 0) law.memory.grow(Math.ceil(missing / 65536));
const bytes = new Uint8Array(law.memory.buffer);
if (law.@NAME@_init(state, @STATE_BYTES@, @VERSION@) !== 0) throw new Error("init failed");
let differing = 0, hash = 14695981039346656037n;
for (let tick = 0, at = 32; tick < ticks; tick++, at += given + taken) {
  bytes.set(vectors.subarray(at, at + given), input);
  law.@NAME@_step(state, input, output);
  const answer = bytes.subarray(output, output + taken);
  if (Buffer.compare(answer, vectors.subarray(at + given, at + given + taken)) !== 0) differing++;
  for (const byte of answer) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 1099511628211n);
}
console.log(`@NAME@: ${ticks} ticks, ${differing} differ, hash ${hash.toString(16).padStart(16, "0")}`);
process.exit(differing ? 1 : 0);
