// A clock that ticks once in a while, so that relative times stay true.

class Clock {
  now = $state(Date.now())

  constructor() {
    setInterval(() => (this.now = Date.now()), 20_000)
  }
}

export const clock = new Clock()
