// Puts package-lock.json in order after `npm install`: without the addresses of the registry that was used, and with an entry for
// each optional package of another platform, which npm leaves out where the registry does not have it, and then misses in `npm ci`.

import { readFileSync, writeFileSync } from 'node:fs'

const FILE = 'package-lock.json'
const lock = JSON.parse(readFileSync(FILE, 'utf8'))
const { packages } = lock
for (const each of Object.values(packages)) {
  delete each.resolved
  for (const [name, version] of Object.entries(each.optionalDependencies ?? {})) {
    const [os, cpu, abi = ''] = (/(?:binding|cli)-(.+)$/.exec(name)?.[1] ?? '').split('-')
    if (!cpu || packages[`node_modules/${name}`]) continue
    const isWasm = os === 'wasm32'
    packages[`node_modules/${name}`] = {
      version,
      cpu: [isWasm ? os : cpu],
      dev: true,
      license: 'MIT',
      optional: true,
      ...(isWasm ? {} : { os: [os] }),
      ...(os === 'linux' ? { libc: [abi === 'musl' ? 'musl' : 'glibc'] } : {}),
    }
  }
}
const byName = ([one], [other]) => (one < other ? -1 : 1)
lock.packages = Object.fromEntries(Object.entries(packages).sort(byName))
writeFileSync(FILE, `${JSON.stringify(lock, null, 2)}\n`)
