* Encoding: UTF-8.
* Reads data.csv of a release of rrpolicy: categories are numbered in the order of their domain.
* Run it in the folder of the file. Plain counts of randomised variables are biased: see README.md.
GET DATA /TYPE=TXT /FILE='data.csv' /ENCODING='UTF8' /ARRANGEMENT=DELIMITED /DELCASE=LINE
  /FIRSTCASE=2 /DELIMITERS=',' /QUALIFIER='"'
  /VARIABLES=
    v1 A1
    v2 A131
    v3 A1
    v4 A1
    v5 A1
    v6 A1
    v7 A1
    v8 A1
    v9 A1
    v10 F40.0
    v11 A5
    v12 A8.
RECODE v1
  ('f' = 1)
  ('m' = 2)
  INTO sex.
VALUE LABELS sex
  1 'f'
  2 'm'.
FORMATS sex (F8.0).
VARIABLE LABELS sex
    'sex: randomised; plain counts are biased'.
VARIABLE LEVEL sex (NOMINAL).
RECODE v2
  ('say "hi"' = 1)
  ('''=1+1' = 2)
  ('''''tis' = 3)
  ('ü$x`y''' = 4)
  ('/* not // a comment \ here' = 5)
  ('xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' +
    'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx1' = 6)
  ('xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' +
    'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx2' = 7)
  ('.' = 8)
  INTO my_column.
VALUE LABELS my_column
  1 'say "hi"'
  2 '=1+1'
  3 '''tis'
  4 'ü$x`y'''
  5 '/* not // a comment \ here'
  6 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' +
    'xxxxxxxxxxxx ... (6)'
  7 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' +
    'xxxxxxxxxxxx ... (7)'
  8 '.'.
FORMATS my_column (F8.0).
VARIABLE LABELS my_column
    'my column: randomised; plain counts are biased'.
VARIABLE LEVEL my_column (NOMINAL).
RECODE v3
  ('f' = 1)
  ('m' = 2)
  INTO x_ALL.
VALUE LABELS x_ALL
  1 'f'
  2 'm'.
FORMATS x_ALL (F8.0).
VARIABLE LABELS x_ALL
    'ALL: randomised; plain counts are biased'.
VARIABLE LEVEL x_ALL (NOMINAL).
RECODE v4
  ('f' = 1)
  ('m' = 2)
  INTO x_3rd.
VALUE LABELS x_3rd
  1 'f'
  2 'm'.
FORMATS x_3rd (F8.0).
VARIABLE LABELS x_3rd
    '3rd: randomised; plain counts are biased'.
VARIABLE LEVEL x_3rd (NOMINAL).
RECODE v5
  ('f' = 1)
  ('m' = 2)
  INTO uber.
VALUE LABELS uber
  1 'f'
  2 'm'.
FORMATS uber (F8.0).
VARIABLE LABELS uber
    'über: randomised; plain counts are biased'.
VARIABLE LEVEL uber (NOMINAL).
RECODE v6
  ('f' = 1)
  ('m' = 2)
  INTO my_column_2.
VALUE LABELS my_column_2
  1 'f'
  2 'm'.
FORMATS my_column_2 (F8.0).
VARIABLE LABELS my_column_2
    'my-column: randomised; plain counts are biased'.
VARIABLE LEVEL my_column_2 (NOMINAL).
RECODE v7
  ('f' = 1)
  ('m' = 2)
  INTO x_v1.
VALUE LABELS x_v1
  1 'f'
  2 'm'.
FORMATS x_v1 (F8.0).
VARIABLE LABELS x_v1
    'v1: randomised; plain counts are biased'.
VARIABLE LEVEL x_v1 (NOMINAL).
RECODE v8
  ('f' = 1)
  ('m' = 2)
  INTO nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn.
VALUE LABELS nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn
  1 'f'
  2 'm'.
FORMATS nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn (F8.0).
VARIABLE LABELS nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn
    'nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn: randomised; plain counts are' +
    ' biased'.
VARIABLE LEVEL nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn (NOMINAL).
RECODE v9
  ('f' = 1)
  ('m' = 2)
  INTO nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_2.
VALUE LABELS nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_2
  1 'f'
  2 'm'.
FORMATS nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_2 (F8.0).
VARIABLE LABELS nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_2
    'nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnm: randomised; plain counts ar' +
    'e biased'.
VARIABLE LEVEL nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_2 (NOMINAL).
RENAME VARIABLES (v10 = age).
FORMATS age (F12.2).
VARIABLE LABELS age
    'age: unchanged'.
VARIABLE LEVEL age (SCALE).
RECODE v11
  ('true' = 1)
  ('false' = 2)
  INTO left.
VALUE LABELS left
  1 'true'
  2 'false'.
FORMATS left (F8.0).
VARIABLE LABELS left
    'left: unchanged'.
VARIABLE LEVEL left (NOMINAL).
IF (SUBSTR(v12, 1, 1) = "'") v12 = SUBSTR(v12, 2).
RENAME VARIABLES (v12 = note).
VARIABLE LABELS note
    'note: unchanged'.
VARIABLE LEVEL note (NOMINAL).
EXECUTE.
ADD FILES /FILE=*
  /KEEP=sex
    my_column
    x_ALL
    x_3rd
    uber
    my_column_2
    x_v1
    nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn
    nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_2
    age
    left
    note.
DATASET NAME data.
