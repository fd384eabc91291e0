// Fails when the JavaScript that a browser loads before it can show a session is larger than it may be, compressed. What is loaded
// later (the highlighter, dialogs, other screens) does not count.

import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'

const LIMIT = 100 * 1024
const read = (name) => readFileSync(`dist/${name}`)
const index = read('index.html').toString()
const first = [...index.matchAll(/(?:src|href)="\/(assets\/[^"]+\.js)"/g)].map((match) => match[1])
const seen = new Set()

/** A script, and those that it cannot begin without. */
function take(name) {
  if (seen.has(name)) return
  seen.add(name)
  for (const [, , other] of read(name)
    .toString()
    .matchAll(/(?:^|[;}\s])(import|export)[^;"'()]*?["']\.\/([^"']+\.js)["']/g))
    take(`assets/${other}`)
}
first.forEach(take)
const sizes = [...seen].map((name) => [name, gzipSync(read(name), { level: 9 }).length])
const total = sizes.reduce((sum, [, size]) => sum + size, 0)
for (const [name, size] of sizes) console.log(`${String(size).padStart(8)}  ${name}`)
console.log(`${String(total).padStart(8)}  of ${LIMIT} bytes`)
if (seen.size === 0 || total > LIMIT) {
  console.error('The page loads too much JavaScript at first. Load what is not needed at once with a dynamic import.')
  process.exit(1)
}
