// What programs print for terminals, as spans.
import { describe, expect, it } from 'vitest'

import { parseAnsi, stripAnsi } from './ansi'
import { firstLines, lastLines, reveal, revealLine } from './text'

const ESC = '\u001b'

describe('parseAnsi', () => {
  it('knows colours and their end', () => {
    expect(parseAnsi(`a${ESC}[31;1mred${ESC}[0m b\nc`)).toEqual([
      [
        { text: 'a', style: '' },
        { text: 'red', style: 'ansi-bold ansi-fg-1' },
        { text: ' b', style: '' },
      ],
      [{ text: 'c', style: '' }],
    ])
  })

  it('brings many colours down to those of the theme', () => {
    const style = (code: string) => parseAnsi(`${ESC}[${code}mx`)[0]![0]!.style
    expect(style('38;5;9')).toBe('ansi-fg-9')
    expect(style('38;2;200;20;20')).toBe('ansi-fg-1')
    expect(style('48;2;20;200;20')).toBe('ansi-bg-2')
    expect(style('38;2;255;255;255')).toBe('')
    expect(style('38;5;196;4')).toBe('ansi-underline ansi-fg-1')
  })

  it('overwrites after a carriage return, and erases', () => {
    expect(stripAnsi('10%\r50%\r100%\nok\r\n')).toBe('100%\nok')
    expect(stripAnsi(`a long line\r${ESC}[Kshort`)).toBe('short')
    expect(stripAnsi(`abc${ESC}[2Kd`)).toBe('   d')
    expect(stripAnsi('abc\b\bX')).toBe('aXc')
    expect(stripAnsi(`ab${ESC}[5Gc`)).toBe('ab  c')
  })

  it('drops links, titles, other escapes and control characters, whole or cut', () => {
    expect(stripAnsi(`${ESC}]8;;javascript:alert(1)${ESC}\\click${ESC}]8;;${ESC}\\ me`)).toBe('click me')
    expect(stripAnsi(`${ESC}]0;title\u0007x${ESC}[?25ly${ESC}(Bz${ESC}Pdcs${ESC}\\!`)).toBe('xyz!')
    expect(stripAnsi('a\u0000\u0007b\u009bc')).toBe('abc')
    for (const end of [ESC, `${ESC}[`, `${ESC}[3`, `${ESC}]8;;http`]) expect(stripAnsi(`x${end}`)).toBe('x')
  })

  it('keeps markup as text and shows what turns the direction of writing', () => {
    expect(stripAnsi('<script>alert(1)</script>')).toBe('<script>alert(1)</script>')
    expect(stripAnsi('a\u202eb')).toBe('a‹U+202E›b')
  })

  it('cuts lines that no screen could show', () => {
    expect(stripAnsi('x'.repeat(100_000)).length).toBe(4000)
    expect(stripAnsi(`${ESC}[999999999Gx`).length).toBeLessThanOrEqual(4001)
  })
})

describe('text', () => {
  it('writes out what cannot be seen, but leaves emoji whole', () => {
    expect(reveal('rm\u200b -rf\u2066')).toBe('rm‹U+200B› -rf‹U+2066›')
    expect(reveal('👩‍💻 ok\n\tx')).toBe('👩‍💻 ok\n\tx')
    expect(revealLine('a\nb\u001b')).toBe('a‹U+000A›b‹U+001B›')
  })

  it('cuts by lines and counts the rest', () => {
    expect(lastLines('a\nb\nc\n', 2)).toEqual({ text: 'b\nc\n', before: 1 })
    expect(lastLines('a\nb', 2)).toEqual({ text: 'a\nb', before: 0 })
    expect(lastLines('\na\nb', 2)).toEqual({ text: 'a\nb', before: 1 })
    expect(firstLines('a\nb\nc\n', 2)).toEqual({ text: 'a\nb', after: 1 })
    expect(firstLines('a\nb\n', 2)).toEqual({ text: 'a\nb\n', after: 0 })
  })
})
