/**
 * What every store of jobs must do. Tests ask through the port, and through `peek` where the port is silent; what a
 * store says it cannot is left out.
 */
import { describe } from 'vitest'
import { claiming } from './queue/claiming.ts'
import { concurrencyKeys } from './queue/concurrency-keys.ts'
import { control } from './queue/control.ts'
import { enqueueing } from './queue/enqueueing.ts'
import { looking } from './queue/looking.ts'
import type { Abilities, QueueStore } from './queue/place.ts'
import { recovery } from './queue/recovery.ts'
import { settling } from './queue/settling.ts'
import { uniqueKeys } from './queue/unique-keys.ts'

export function describeQueue(name: string, open: () => Promise<QueueStore>, can: Abilities): void {
  describe(name, () => {
    describe('enqueueing', () => enqueueing(open, can))
    describe('unique keys', () => uniqueKeys(open))
    describe('claims', () => claiming(open, can))
    describe('settlement', () => settling(open, can))
    describe('recovery', () => recovery(open))
    describe('verbs', () => control(open))
    describe('lists and counts', () => looking(open, can))
    if (can.keys) describe('concurrency keys', () => concurrencyKeys(open))
  })
}
