#!/usr/bin/env python3
"""Checks a trace of `afore-trace plot gantt --to chrome` (standard input) and prints what it has, or what is wrong.

Required fields by phase; slices of a thread do not partly overlap; every flow has one start and one end, within slices
of their threads, the end not before the start; counters go forward in time; every process and thread has a name.
"""
import collections
import decimal
import json
import sys

trace = json.load(sys.stdin, parse_float=decimal.Decimal, parse_int=decimal.Decimal)
problems = []
required = {
    'X': ('name', 'cat', 'pid', 'tid', 'ts', 'dur'),
    'M': ('name', 'pid', 'tid', 'args'),
    'C': ('name', 'pid', 'tid', 'ts', 'args'),
    's': ('name', 'cat', 'id', 'pid', 'tid', 'ts'),
    'f': ('name', 'cat', 'id', 'pid', 'tid', 'ts', 'bp'),
}
slices = collections.defaultdict(list)
flows = collections.defaultdict(list)
counters = collections.defaultdict(list)
names = set()
counts = collections.Counter()
for event in trace['traceEvents']:
    phase = event.get('ph')
    counts[phase] += 1
    lacking = [key for key in required.get(phase, ('unknown phase',)) if key not in event]
    if lacking:
        problems.append(f'{event}: lacks {lacking}')
        continue
    where = (event['pid'], event['tid'])
    for key in ('ts', 'dur'):
        if key in event and (event[key] < 0 or event[key] * 1000 != int(event[key] * 1000)):
            problems.append(f'{event}: {key} is not whole nanoseconds from 0 on')
    if phase == 'X':
        slices[where].append((event['ts'], event['ts'] + event['dur']))
    elif phase == 'C':
        counters[event['pid'], event['name']].append(event['ts'])
        if any(value < 0 for value in event['args'].values()):
            problems.append(f'{event}: below 0')
    elif phase == 'M':
        names.add((event['name'], *where))
    elif phase in 'sf':
        flows[event['id']].append((phase, where, event['ts']))
for where, spans in slices.items():
    spans.sort(key=lambda span: (span[0], -span[1]))
    open_ends = []
    for begin, end in spans:
        while open_ends and open_ends[-1] <= begin:
            open_ends.pop()
        if open_ends and end > open_ends[-1]:
            problems.append(f'{where}: the slice from {begin} to {end} overlaps its neighbour in part')
        open_ends.append(end)
    if ('thread_name', *where) not in names:
        problems.append(f'{where}: a thread without a name')
    if ('process_name', where[0], 0) not in names:
        problems.append(f'{where}: a process without a name')
starts = {where: [span[0] for span in spans] for where, spans in slices.items()}


def within(where, at):
    import bisect
    spans = slices.get(where, [])
    i = bisect.bisect_right(starts.get(where, []), at)
    return any(begin <= at <= end for begin, end in spans[max(0, i - 3):i])


for number, ends in flows.items():
    if sorted(end[0] for end in ends) != ['f', 's']:
        problems.append(f'flow {number}: {ends}')
        continue
    times = {phase: at for phase, _, at in ends}
    if times['s'] > times['f']:
        problems.append(f'flow {number} runs backwards')
    problems.extend(f'flow {number}: its {phase} is in no slice' for phase, where, at in ends if not within(where, at))
for key, times in counters.items():
    if any(a >= b for a, b in zip(times, times[1:])):
        problems.append(f'counter {key} goes back in time')
for problem in problems[:10]:
    print(problem)
if not problems:
    print(' '.join(f'{phase}:{n}' for phase, n in sorted(counts.items())))
sys.exit(bool(problems))
