# Reads a release of rrpolicy into R: its records, and counts, shares and tables corrected for what was randomised.
# Base R alone, 4.0 or later; a release in Parquet needs the package arrow or nanoparquet.
#
#     source("rrpolicy.R")
#     release <- rr_open("public")
#     rr_crosstab(release, c("sex", "disease"))
#     rr_count(release, list(age_group = c("45-64", "65+"), disease = "none"))
#     rr_share(release, list(disease = "asthma"), within = list(sex = "female"), by = "region")
#     release$data                      # the released records: plain counts of randomised columns are biased
#     rr_weights(release, list(disease = "asthma"))     # of each record, in the count of asthma
#
# A count of original records is a sum of record weights. For N records and weights w:
#     variance, target "table"       sum(w^2) - sum(w)                          only the randomisation is random
#     variance, target "population"  N / (N - 1) * (sum(w^2) - sum(w)^2 / N)    the table is a simple random sample
# Of a release that states the design of a survey, counts are of people, the sum of d w with the survey's weight d, and
# the population is what is estimated unless `target` says otherwise. With z the sum of d w over a cluster (a record, where
# there are none) and n clusters in a stratum:
#     variance, target "table"       sum(d^2 (w^2 - w))
#     variance, target "population"  sum over strata of n / (n - 1) * (sum(z^2) - sum(z)^2 / n)
# rr_open(path, design = FALSE) counts the records of this table, every one alike.
# Estimates can be negative; intervals are cut off at 0 and N. Generalised columns are counted by the labels that were
# released: how many records have a label is exact. Columns whose matrices are withheld, or that stand in a table of their own, are not counted.

# ---- what an analyst calls ----

rr_open <- function(path, verify = TRUE, design = TRUE) {
  folder <- if (file.exists(file.path(path, "public", "release.json"))) file.path(path, "public") else path
  read <- .rr_json(file.path(folder, "release.json"))
  m <- read$value
  if (!identical(m$schema, "rrpolicy.release/1")) stop("release.json is not of the schema rrpolicy.release/1", call. = FALSE)
  if (verify) {
    if (!identical(paste0("sha256:", .rr_sha256(charToRaw(read$sealed))), m$digest))
      stop("release.json was changed after it was released: its digest is not its own", call. = FALSE)
    for (table in m$data$tables) for (file in unlist(table$files)) {
      if (is.null(m$files[[file]]) || !identical(paste0("sha256:", .rr_sha256_of(file.path(folder, file))), m$files[[file]]))
        stop(file, " was changed after it was released; verify = FALSE reads it as it is", call. = FALSE)
    }
  }
  specs <- m$tables
  names(specs) <- vapply(specs, function(t) t$name, "")
  if (!any(c("data", "qit") %in% names(specs))) stop("a release without a table of records", call. = FALSE)
  read_in <- lapply(specs, function(spec) .rr_table(folder, m$data, spec))
  main <- if ("data" %in% names(specs)) "data" else "qit"
  release <- list(
    folder = folder, manifest = m, records = as.numeric(m$records), most = as.numeric(m$units$max_records),
    data = read_in[[main]], tables = read_in, axes = list()
  )
  for (decoder in m$decoders) for (axis in .rr_axes(decoder, read_in[[main]])) release$axes <- c(release$axes, list(axis))
  if (nrow(release$data) != release$records)
    stop("the data hold ", nrow(release$data), " records, release.json says ", release$records, call. = FALSE)
  release$design <- if (design) .rr_design(release)
  structure(release, class = "rrpolicy_release")
}

print.rrpolicy_release <- function(x, ...) {
  counted <- unlist(lapply(x$axes, function(a) a$columns))
  cat(format(x$records, big.mark = ","), " records: ", x$manifest$policy$name, " ", x$manifest$policy$version, "\n", sep = "")
  for (name in names(x$data)) {
    axis <- .rr_find(x, name)
    how <- if (is.null(axis)) "(not counted)" else if (axis$randomised) "randomised: corrected when counted" else "as released"
    cat("  ", name, ": ", how, "\n", sep = "")
  }
  if (!is.null(x$design)) cat("  counts are of people, by the design of the survey: ", x$design$told, "\n", sep = "")
  invisible(x)
}

# The estimated number of original records under a condition: a list of columns, each with the categories that count.
# `rows` chooses records by what was released as it is, such as `release$data$hours > 3`.
# `target`: "table", "population"; the default is the population where a design is stated, and this table elsewhere.
rr_count <- function(release, where = list(), rows = NULL, target = NULL, level = @level@)
  rr_crosstab(release, character(), where, rows, target, level)

# The estimated number of original records in each combination of categories.
rr_crosstab <- function(release, by = character(), where = list(), rows = NULL, target = NULL, level = @level@) {
  target <- .rr_target(release, target, level)
  asked <- .rr_asked(release, by, where)
  parts <- lapply(asked$parts, function(p) .rr_weigh(p$axis, p$groups))
  chosen <- .rr_rows(release, rows)
  d <- .rr_people(release)
  s <- c(.rr_sums(parts, chosen, "first", d), .rr_sums(parts, chosen, "second", d^2),
         .rr_sums(parts, chosen, "speaks", rep(1, length(d))))
  if (any(vapply(asked$parts, function(p) p$axis$form == "addition", NA))) s$speaks <- ceiling(s$speaks - 1e-9)
  own <- s$second - .rr_sums(parts, chosen, "first", d^2)$first
  population <- if (is.null(release$design)) {
    N <- release$records
    N / max(N - 1, 1) * (s$second - s$first^2 / N)
  } else .rr_designed(release, parts, chosen, d, "first", "first")
  population <- pmax(population, 0)
  none <- abs(own) <= 1e-9 * s$second
  stand_in <- target == "table" & !none & own < 0
  variance <- if (target == "population") population else ifelse(none, 0, ifelse(own < 0, population, own))
  se <- sqrt(variance)
  reach <- .rr_reach(release, target, level)
  ends <- if (is.null(release$design)) {
    noise <- if (target == "table") variance else ifelse(none, 0, pmax(own, 0))
    .rr_count_ends(s$first, noise, reach, release$records, target == "population")
  } else .rr_clipped(s$first, reach * se, 0, Inf)
  flags <- .rr_flags(list(
    "few records" = !is.null(release$design) & s$speaks < 5 & variance != 0,
    "population variance" = stand_in, "outside the possible" = ends$outside
  ))
  data.frame(.rr_keys(asked), estimate = s$first, se = se, low = ends$low, high = ends$high, released = s$speaks,
             flags = flags, check.names = FALSE, stringsAsFactors = FALSE)
}

# The estimated share of records with `part` among those within `within`, in each group of `by`; Fieller's intervals.
rr_share <- function(release, part, within = list(), by = character(), rows = NULL, target = NULL, level = @level@) {
  target <- .rr_target(release, target, level)
  asked <- .rr_asked(release, by, within, part)
  parts <- lapply(asked$parts, function(p) .rr_weigh_both(p$axis, p$part, p$groups))
  chosen <- .rr_rows(release, rows)
  d <- .rr_people(release)
  s <- .rr_sums(parts, chosen, c("part", "whole"), d)
  squares <- .rr_sums(parts, chosen, c("part", "whole", "part_part", "part_whole", "whole_whole"), d^2)
  ratio <- ifelse(s$whole > 0, s$part / s$whole, NA)
  square <- rbind(squares$part_part, squares$part_whole, squares$whole_whole)
  sampled <- if (is.null(release$design)) {
    drawn <- pmax(s$whole, 0)
    release$records / max(release$records - 1, 1) * (square - rbind(s$part, s$part + drawn / 2, s$whole + drawn))
  } else rbind(.rr_designed(release, parts, chosen, d, "part", "part"), .rr_designed(release, parts, chosen, d, "part", "whole"),
               .rr_designed(release, parts, chosen, d, "whole", "whole"))
  table <- square - rbind(squares$part, squares$part, squares$whole)
  at <- function(v, r) v[1, ] - 2 * r * v[2, ] + r^2 * v[3, ]
  scale <- abs(square[1, ]) + 2 * abs(ratio * square[2, ]) + ratio^2 * abs(square[3, ])
  value <- at(table, ratio)
  none <- is.na(value) | abs(value) <= 1e-9 * scale
  stand_in <- !none & value < 0
  v <- if (target == "population") sampled else
    vapply(seq_along(ratio), function(i) if (!is.na(value[i]) && none[i]) numeric(3) else
      if (stand_in[i]) sampled[, i] else table[, i], numeric(3))
  v <- matrix(v, 3)
  se <- sqrt(pmax(at(v, ratio), 0)) / s$whole
  step <- if (is.null(release$design)) ifelse(colSums(v != 0) > 0, 1 / 2, 0) else 0
  ends <- .rr_fieller(s$part, s$whole, v, .rr_reach(release, target, level), step)
  flags <- .rr_flags(list("population variance" = stand_in & target == "table", "outside the possible" = ends$outside,
                          "not estimable" = is.na(ratio)))
  data.frame(.rr_keys(asked), estimate = ratio, se = se, low = ends$low, high = ends$high, flags = flags,
             check.names = FALSE, stringsAsFactors = FALSE)
}

# The weight of each record in the count under a condition, by that of the survey: their sum is the estimate.
rr_weights <- function(release, where) {
  w <- .rr_people(release)
  for (p in .rr_asked(release, character(), where)$parts) w <- w * .rr_weigh(p$axis, p$groups)$first[p$axis$code, 1]
  w
}

# ---- what is asked ----

.rr_find <- function(release, name) {
  for (axis in release$axes) if (name %in% axis$columns) return(axis)
  NULL
}

.rr_axis <- function(release, name) {
  axis <- .rr_find(release, name)
  if (!is.null(axis)) return(axis)
  if (!name %in% names(release$data) && !any(vapply(release$tables, function(t) name %in% names(t), NA)))
    stop("no such column: ", name, "; there are ", paste(names(release$data), collapse = ", "), call. = FALSE)
  stop(name, " cannot be counted by: it has no categories, its matrix is withheld, or it stands in a table of its own",
       call. = FALSE)
}

# Of each axis that is named: what its groups count, (V, groups), and of shares also which of that is the part.
.rr_asked <- function(release, by, where, part = list()) {
  for (given in list(where, part)) if (length(given) && (is.null(names(given)) || !is.list(given)))
    stop("a condition is a list of columns with categories, such as list(sex = \"female\")", call. = FALSE)
  if (anyDuplicated(by)) stop("a column is grouped by twice", call. = FALSE)
  parts <- list(); keys <- NULL
  for (name in unique(c(by, names(where), names(part)))) {
    axis <- .rr_axis(release, name)
    if (any(vapply(parts, function(p) identical(p$axis$columns, axis$columns), NA))) next
    mask <- .rr_mask(axis, where)
    shown <- axis$columns[axis$columns %in% by]
    if (length(shown)) {
      cells <- axis$original[, shown, drop = FALSE]
      cell <- .rr_pasted(cells)
      own <- unique(cell[mask])
      groups <- outer(cell, own, "==") & mask
      labels <- cells[match(own, cell), , drop = FALSE]
    } else {
      groups <- matrix(mask, ncol = 1)
      labels <- matrix(character(), 1, 0)
    }
    parts <- c(parts, list(list(axis = axis, groups = groups, part = groups & .rr_mask(axis, part))))
    size <- if (is.null(keys)) 1 else nrow(keys)
    if (size * nrow(labels) > 1e6) stop("more than 1,000,000 cells: group by fewer columns", call. = FALSE)
    left <- rep(seq_len(size), each = nrow(labels))
    right <- rep(seq_len(nrow(labels)), times = size)
    keys <- if (is.null(keys)) labels[right, , drop = FALSE] else
      cbind(keys[left, , drop = FALSE], labels[right, , drop = FALSE])
  }
  if (!is.null(release$design) && any(vapply(parts, function(p) p$axis$form == "addition", NA)))
    stop("sets of values know no design of a survey: count records by rr_open(path, design = FALSE)", call. = FALSE)
  list(parts = parts, by = by, keys = if (is.null(keys)) matrix(character(), 1, 0) else keys, release = release)
}

.rr_mask <- function(axis, where) {
  mask <- rep(TRUE, nrow(axis$original))
  for (name in intersect(names(where), axis$columns)) {
    known <- axis$original[, name]
    wanted <- vapply(where[[name]], function(v) if (is.logical(v)) tolower(v) else as.character(v), "")
    as_number <- suppressWarnings(as.numeric(known))
    hit <- if (is.numeric(where[[name]]) && !anyNA(as_number)) match(where[[name]], as_number) else match(wanted, known)
    if (anyNA(hit)) stop(name, " has no category ", wanted[is.na(hit)][1], "; it has ", paste(unique(known), collapse = ", "),
                         call. = FALSE)
    mask <- mask & known %in% known[hit]
  }
  mask
}

.rr_keys <- function(asked) {
  made <- lapply(asked$by, function(name) {
    own <- unique(.rr_find(asked$release, name)$original[, name])
    factor(asked$keys[, name], levels = own)
  })
  names(made) <- asked$by
  if (length(made)) as.data.frame(made, optional = TRUE) else data.frame(row.names = seq_len(nrow(asked$keys)))
}

.rr_rows <- function(release, rows) {
  if (is.null(rows)) return(rep(TRUE, nrow(release$data)))
  if (!is.logical(rows) || length(rows) != nrow(release$data))
    stop("rows is one TRUE or FALSE for each record", call. = FALSE)
  rows & !is.na(rows)
}

.rr_target <- function(release, target, level) {
  if (is.null(target)) target <- if (is.null(release$design)) "table" else "population"
  if (!target %in% c("table", "population")) stop("target is \"table\" or \"population\"", call. = FALSE)
  if (!is.numeric(level) || length(level) != 1 || !(level > 0 && level < 1)) stop("level lies between 0 and 1", call. = FALSE)
  if (target == "population" && release$most > 1)
    stop("a person may have several records: the table is no sample of independent records", call. = FALSE)
  if (target == "population" && is.null(release$design) && isTRUE(release$manifest$weights_inside))
    stop("the publisher kept the survey's weights: nothing is said of the population", call. = FALSE)
  stated <- any(vapply(release$manifest$attributes, function(a) !is.null(a$design) || !is.null(a$totals), NA))
  if (target == "population" && is.null(release$design) && stated)
    stop("the release states the design of a survey: leave out design = FALSE to speak of the population", call. = FALSE)
  target
}

# How many standard errors an interval reaches to each side: Student's, where a design was sampled.
.rr_reach <- function(release, target, level) {
  sampled <- !is.null(release$design) && target == "population"
  stats::qt((1 + level) / 2, if (sampled) max(.rr_units(release)$degrees, 1) else Inf)
}

# ---- the design of a survey ----

# What a release states of its design; NULL for nothing. What cannot be estimated by it is refused when it is asked for.
.rr_design <- function(release) {
  of <- list(weight = NULL, stratum = NULL, cluster = NULL)
  for (a in release$manifest$attributes) if (!is.null(a$design))
    of[[a$design]] <- c(of[[a$design]], if (is.null(a$release_as)) a$name else a$release_as)
  totals <- any(vapply(release$manifest$attributes, function(a) !is.null(a$totals), NA))
  if (!totals && (!length(unlist(of)) || isTRUE(release$manifest$weights_inside))) return(NULL)
  withheld <- unlist(lapply(release$manifest$decoders, function(x) if (x$form == "withheld") c(x$columns, x$column)))
  drawn <- function(name) name %in% withheld || isTRUE(.rr_find(release, name)$randomised)
  strata <- of$stratum[!vapply(of$stratum, drawn, NA)]
  refused <- if (totals) "calibrates to known totals" else
    if (any(vapply(of$cluster, drawn, NA))) "has clusters that were randomised" else
    if (any(vapply(of$weight, drawn, NA))) "has a weight that was randomised" else NULL
  told <- c(if (length(of$weight)) paste("weighted by", of$weight), if (length(strata)) paste("strata by", toString(strata)),
            if (length(of$cluster)) paste("clusters by", toString(of$cluster)))
  list(weight = of$weight, strata = strata, clusters = of$cluster, refused = refused, told = paste(told, collapse = "; "))
}

# How many people each record stands for.
.rr_people <- function(release) {
  design <- release$design
  if (is.null(design)) return(rep(1, nrow(release$data)))
  if (!is.null(design$refused))
    stop("the design of the survey ", design$refused, ", which this reader does not follow: ask rrpolicy, or count records by ",
         "rr_open(path, design = FALSE)", call. = FALSE)
  if (!length(design$weight)) return(rep(1, nrow(release$data)))
  d <- release$data[[design$weight]]
  d <- if (is.factor(d)) suppressWarnings(as.numeric(levels(d)))[d] else as.numeric(d)
  if (anyNA(d)) stop("the weights of the survey, in ", design$weight, ", are no numbers", call. = FALSE)
  d
}

# The cluster of each record, the stratum of each cluster, and how many clusters a stratum has.
.rr_units <- function(release) {
  apart <- function(names) if (length(names)) match(key <- do.call(paste, c(lapply(release$data[names], as.character), sep = "\r")), unique(key))
    else rep(1L, nrow(release$data))
  stratum <- apart(release$design$strata)
  cluster <- if (length(release$design$clusters)) apart(c(release$design$strata, release$design$clusters)) else seq_along(stratum)
  of <- stratum[!duplicated(cluster)]
  n <- tabulate(of)
  if (any(n == 1)) stop("a stratum has one cluster alone, which tells nothing of how its clusters vary: ask rrpolicy", call. = FALSE)
  list(cluster = cluster, stratum = of, n = n, degrees = sum(n) - length(n))
}

# The covariance of two weighted sums of each group, over samples: clusters drawn with replacement inside strata.
.rr_designed <- function(release, parts, chosen, d, one, other) {
  units <- .rr_units(release)
  groups <- vapply(parts, function(p) ncol(p[[one]]), 1)
  each <- function(what, at) {
    z <- d * chosen
    for (i in seq_along(parts)) z <- z * parts[[i]][[what]][parts[[i]]$code, at[i]]
    as.vector(rowsum(z, units$cluster))
  }
  summed <- function(x) as.vector(rowsum(x, units$stratum))
  vapply(seq_len(prod(groups)), function(g) {
    left <- g - 1; at <- integer(length(groups))
    for (i in rev(seq_along(groups))) { at[i] <- left %% groups[i] + 1; left <- left %/% groups[i] }
    a <- each(one, at)
    b <- if (one == other) a else each(other, at)
    sum(units$n / (units$n - 1) * (summed(a * b) - summed(a) * summed(b) / units$n))
  }, 1)
}

# ---- sums of weights ----

# Sums over the chosen records of products, one factor an axis, for every combination of groups, the last axis fastest;
# `mass` is what each record counts.
.rr_sums <- function(parts, chosen, wanted, mass) {
  codes <- lapply(parts, function(p) p$code[chosen])
  if (length(codes)) {
    key <- do.call(paste, codes)
    first <- which(!duplicated(key))
    n <- as.vector(rowsum(mass[chosen], factor(key, levels = key[first])))
    codes <- lapply(codes, function(code) code[first])
  } else n <- sum(mass[chosen])
  sums <- lapply(wanted, function(what) {
    total <- 0
    for (piece in split(seq_along(n), (seq_along(n) - 1) %/% 5000)) {
      w <- matrix(1, length(piece), 1)
      for (i in seq_along(parts)) {
        own <- parts[[i]][[what]][codes[[i]][piece], , drop = FALSE]
        w <- w[, rep(seq_len(ncol(w)), each = ncol(own)), drop = FALSE] *
          own[, rep(seq_len(ncol(own)), times = ncol(w)), drop = FALSE]
      }
      total <- total + as.vector(crossprod(w, n[piece]))
    }
    if (length(total) == 1 && !length(n)) rep(0, prod(vapply(parts, function(p) ncol(p[[what]]), 1))) else total
  })
  names(sums) <- wanted
  sums
}

.rr_weigh <- function(axis, groups) {
  w <- axis$weigh(groups)
  list(code = axis$code, first = w, second = axis$squared(groups, w), speaks = axis$speaks(groups))
}

.rr_weigh_both <- function(axis, part, whole) {
  g <- axis$weigh(part)
  d <- axis$weigh(whole)
  squares <- lapply(list(part, whole, whole & !part), function(t) axis$squared(t, axis$weigh(t)))
  list(code = axis$code, part = g, whole = d, part_part = squares[[1]], whole_whole = squares[[2]],
       part_whole = (squares[[2]] + squares[[1]] - squares[[3]]) / 2)
}

# ---- intervals ----

.rr_clipped <- function(centre, half, least, most) {
  outside <- half > 0 & (centre + half <= least | centre - half >= most)
  middle <- ifelse(outside, pmin(pmax(centre, least), most), centre)
  list(low = pmin(pmax(middle - half, least), most), high = pmin(pmax(middle + half, least), most), outside = outside)
}

# The counts n with |T - n| - 1/2 <= z sqrt(V(n)): V is the noise of T and, of a population, the sampling variance of n
# (Wilson 1927, with Yates' continuity correction); within [0, N].
.rr_count_ends <- function(count, noise, reach, N, sampled) {
  square <- reach^2
  sampling <- if (sampled) N / max(N - 1, 1) else 0
  step <- ifelse(noise > 0 | sampled, 1 / 2, 0)
  half <- step + reach * sqrt(noise)
  outside <- half > 0 & (count + half <= 0 | count - half >= N)
  middle <- ifelse(outside, pmin(pmax(count, 0), N), count)
  end <- function(side) {
    near <- middle + side * step
    A <- 1 + square * sampling / N; B <- near + square * sampling / 2; C <- near^2 - square * noise
    found <- pmin(pmax((B + side * sqrt(pmax(B^2 - A * C, 0))) / A, 0), N)
    if (side < 0) ifelse(near <= 0, 0, found) else ifelse(near >= N, N, found)
  }
  list(low = end(-1), high = end(1), outside = outside)
}

# The ratios r for which n - r d is within z standard errors, and the continuity correction `step`, of 0 (Fieller 1954);
# within [0, 1].
.rr_fieller <- function(n, d, v, reach, step) {
  R <- ifelse(d > 0, n / d, NA)
  edge <- pmin(pmax(R, 0), 1)
  far <- (n - edge * d)^2 / (v[1, ] - 2 * edge * v[2, ] + edge^2 * v[3, ])
  beyond <- ifelse(!is.na(R) & edge != R & !is.na(far) & far > 0, far, 0)
  z2 <- reach^2
  cut <- z2 + beyond
  ends <- function(n) {
    A <- d^2 - cut * v[3, ]; B <- n * d - cut * v[2, ]; C <- n^2 - cut * v[1, ]
    root <- sqrt(pmax(B^2 - A * C, 0))
    first <- pmin((B - root) / A, (B + root) / A); second <- pmax((B - root) / A, (B + root) / A)
    outer <- A < 0 & root > 0
    low <- ifelse(A > 0, first, ifelse(outer & first < 0, second, 0))
    high <- ifelse(A > 0, second, ifelse(outer & second > 1, first, 1))
    list(low = ifelse(d > 0 & !is.na(low), pmin(pmax(low, 0), 1), 0),
         high = ifelse(d > 0 & !is.na(high), pmin(pmax(high, 0), 1), 1))
  }
  low <- ifelse(step > 0 & n - step <= 0, 0, ends(n - step)$low)
  high <- ifelse(step > 0 & n + step >= d, 1, ends(n + step)$high)
  list(low = low, high = high, outside = beyond > z2)
}

.rr_flags <- function(holds) {
  told <- lapply(names(holds), function(name) ifelse(!is.na(holds[[name]]) & holds[[name]], name, ""))
  gsub("(^; |(; )+$)", "", gsub("(; )+", "; ", do.call(paste, c(told, sep = "; "))))
}

# ---- decoders: how each column is undone ----

# Each returns the weights of distinct released cells, (U, groups), in the counts of groups of original cells (V, groups):
# w with P^T w = c, P[u, v] the probability that v is released as u.
.rr_axes <- function(decoder, data) {
  if (!all(unlist(c(decoder$columns, decoder$column)) %in% names(data))) return(list())
  switch(decoder$form,
    identity = if (length(decoder$labels)) list(.rr_plain(decoder$column, .rr_column(decoder$labels), data)) else list(),
    recode = Map(function(name, labels) .rr_plain(name, .rr_column(labels), data), unlist(decoder$columns), decoder$released),
    retention = list(.rr_retention(decoder, data)),
    matrix = list(.rr_matrix(decoder, data)),
    addition = if (as.numeric(decoder$set_size) < length(decoder$labels)) list(.rr_addition(decoder, data)) else list(),
    list()
  )
}

.rr_made <- function(form, columns, original, code, randomised, weigh, speaks, squared = function(groups, w) w^2) {
  colnames(original) <- columns
  list(form = form, columns = columns, original = original, code = code, randomised = randomised, weigh = weigh,
       speaks = speaks, squared = squared)
}

.rr_plain <- function(name, labels, data)
  .rr_made("identity", name, labels, .rr_code(data[name], labels), FALSE, function(groups) groups + 0, function(groups) groups + 0)

.rr_retention <- function(decoder, data) {
  columns <- unlist(decoder$columns)
  cells <- .rr_cells(decoder$labels)
  blocks <- lapply(decoder$blocks, function(b)
    list(members = as.integer(unlist(lapply(b$members, as.numeric))) + 1L, keep = .rr_fraction(b$keep_probability)))
  weigh <- function(groups) {
    w <- groups + 0
    for (b in blocks) {
      d <- length(b$members); inside <- w[b$members, , drop = FALSE]
      varies <- colSums(inside) > 0 & colSums(inside) < d
      if (d == 1 || !any(varies)) next
      q <- (1 - b$keep) / (d - 1)
      if (b$keep == q) stop("the released values of ", paste(columns, collapse = ", "), " do not tell its categories apart",
                            call. = FALSE)
      kept <- (1 - q) / (b$keep - q); moved <- -q / (b$keep - q)
      part <- inside[, varies, drop = FALSE]
      held <- matrix(colSums(part), d, ncol(part), byrow = TRUE)
      w[b$members, varies] <- ifelse(part > 0, kept + moved * (held - 1), moved * held)
    }
    w
  }
  speaks <- function(groups) {
    for (b in blocks) if (b$keep * length(b$members) < 1) {
      inside <- groups[b$members, , drop = FALSE]
      groups[b$members, ] <- !inside & matrix(colSums(inside) > 0, nrow(inside), ncol(inside), byrow = TRUE)
    }
    groups + 0
  }
  drawn <- any(vapply(blocks, function(b) b$keep != 1, NA))
  .rr_made("retention", columns, cells, .rr_code(data[columns], cells), drawn, weigh, speaks)
}

.rr_matrix <- function(decoder, data) {
  columns <- unlist(decoder$columns)
  P <- t(vapply(decoder$rows, function(row) vapply(row, .rr_fraction, 1), numeric(length(decoder$original))))
  if (length(decoder$original) == 1) P <- matrix(P, ncol = 1)
  weigh <- function(groups) {
    targets <- groups + 0
    w <- if (nrow(P) == ncol(P)) tryCatch(solve(t(P), targets), error = function(e) NULL) else NULL
    if (!is.null(w)) w <- w + solve(t(P), targets - t(P) %*% w) else w <- .rr_least_variance(P, targets)
    constant <- colSums(groups) %in% c(0, nrow(groups))
    off <- apply(abs(targets - t(P) %*% w), 2, max) > 1e-9 * pmax(1, apply(abs(w), 2, max))
    if (any(off & !constant)) stop("the released values of ", paste(columns, collapse = ", "),
                                   " do not tell its categories apart", call. = FALSE)
    for (j in which(constant)) w[, j] <- targets[1, j]
    w
  }
  speaks <- function(groups) {
    inside <- colSums(groups); outside <- nrow(groups) - inside
    within <- sweep(P %*% groups, 2, pmax(inside, 1), "/"); beyond <- sweep(P %*% !groups, 2, pmax(outside, 1), "/")
    every <- matrix(outside == 0, nrow(P), ncol(groups), byrow = TRUE)
    ((within > beyond | every) & matrix(inside > 0, nrow(P), ncol(groups), byrow = TRUE)) + 0
  }
  released <- .rr_cells(decoder$released)
  .rr_made("matrix", columns, .rr_cells(decoder$original), .rr_code(data[columns], released), TRUE, weigh, speaks)
}

# Weights of least variance under a uniform original: those with P^T w = c that minimise sum(lambda w^2).
.rr_least_variance <- function(P, targets) {
  root <- sqrt(ifelse(rowSums(P) > 0, rowSums(P), 1))
  found <- svd(t(P / root))
  keep <- found$d > 1e-12 * max(found$d)
  inverse <- found$v[, keep, drop = FALSE] %*% (t(found$u[, keep, drop = FALSE]) / found$d[keep])
  w <- inverse %*% targets
  for (i in 1:2) w <- w + inverse %*% (targets - t(P / root) %*% w)
  w / root
}

# Sets of l of S values: w = (1[j in set] - P_E) / (1 - P_E), P_E = (l - 1) / (S - 1). The square of a group's weight is
# what it is expected to be: of the other values that a set holds, a hypergeometric number lies in the group.
.rr_addition <- function(decoder, data) {
  columns <- unlist(decoder$columns)
  cells <- .rr_cells(decoder$labels)
  S <- nrow(cells); l <- as.numeric(decoder$set_size); P_E <- (l - 1) / (S - 1)
  pasted <- .rr_pasted(cells)
  sets <- do.call(Map, c(function(...) sort(match(.rr_pasted(cbind(...)), pasted)), unname(lapply(columns, function(c) data[[c]]))))
  if (any(lengths(sets) != l)) stop("a set of ", paste(columns, collapse = ", "), " does not hold ", l, " known values", call. = FALSE)
  key <- vapply(sets, paste, "", collapse = " ")
  first <- which(!duplicated(key))
  held <- matrix(0, length(first), S)
  held[cbind(rep(seq_along(first), each = l), unlist(sets[first]))] <- 1
  spread <- function(marked) {
    share <- marked / (S - 1)
    (l - 1) * share * (1 - share) * (S - l) / max(S - 2, 1) / (1 - P_E)^2
  }
  weigh <- function(groups) (held %*% groups - P_E * matrix(colSums(groups), nrow(held), ncol(groups), byrow = TRUE)) / (1 - P_E)
  squared <- function(groups, w) {
    size <- colSums(groups)
    inside <- ifelse(size > 0, 1 + spread(size - 1), 0); outside <- spread(size)
    sweep(sweep(w, 2, inside, "*") + sweep(1 - w, 2, outside, "*"), 2, 0, "+")
  }
  speaks <- function(groups) sweep(held %*% groups, 2, pmin(pmax(colSums(groups), 1), l), "/")
  .rr_made("addition", columns, cells, match(key, key[first]), TRUE, weigh, speaks, squared)
}

# ---- cells ----

.rr_text <- function(value) if (is.logical(value)) tolower(value) else if (is.numeric(value)) attr(value, "text") else value
.rr_cells <- function(cells) do.call(rbind, lapply(cells, function(cell) vapply(cell, .rr_text, "")))
.rr_column <- function(labels) matrix(vapply(labels, .rr_text, ""), ncol = 1)
.rr_pasted <- function(cells) {
  parts <- lapply(seq_len(ncol(cells)), function(j) paste0(nchar(cells[, j], "bytes"), ":", cells[, j]))
  do.call(paste0, parts)
}

.rr_code <- function(data, cells) {
  code <- match(.rr_pasted(vapply(data, as.character, character(nrow(data)))), .rr_pasted(cells))
  if (anyNA(code)) stop(paste(names(data), collapse = ", "), " holds values that release.json does not name", call. = FALSE)
  code
}

.rr_fraction <- function(text) {
  parts <- as.numeric(strsplit(text, "/", fixed = TRUE)[[1]])
  if (length(parts) == 2) parts[1] / parts[2] else parts
}

# ---- files ----

# A released table: categories as factors in the order of their domain, sets as lists, other columns as they are.
.rr_table <- function(folder, data, spec) {
  files <- file.path(folder, unlist(data$tables[[spec$name]]$files))
  names <- vapply(spec$columns, function(c) c$name, "")
  found <- lapply(files, function(file) switch(data$format,
    csv = .rr_csv(file),
    parquet = .rr_parquet(file),
    stop("the data are in the format ", data$format, ": only csv and parquet are read", call. = FALSE)
  ))
  for (table in found) if (ncol(table) != length(names)) stop("a data file is unlike its description", call. = FALSE)
  table <- do.call(rbind, lapply(found, function(t) stats::setNames(t, names)))
  for (i in seq_along(names)) {
    column <- spec$columns[[i]]
    taken_off <- data$format == "csv" && data$csv_formulas == "escape" && !column$kind %in% c("set", "group", "count") &&
      (!nzchar(column$type) || sub("\\(.*", "", column$type) %in% c("VARCHAR", "TEXT", "STRING", "CHAR", "BPCHAR"))
    table[[i]] <- .rr_values(table[[i]], column, taken_off && .rr_escapable(column))
  }
  table
}

.rr_escapable <- function(column) {
  if (!length(column$labels)) return(TRUE)
  any(grepl("^[-=+@\t\r']", vapply(column$labels, .rr_text, "")))
}

.rr_csv <- function(file) utils::read.csv(
  file, colClasses = "character", na.strings = character(0), check.names = FALSE, encoding = "UTF-8", quote = "\"", header = TRUE
)

.rr_parquet <- function(file) {
  if (requireNamespace("arrow", quietly = TRUE)) return(as.data.frame(arrow::read_parquet(file)))
  if (requireNamespace("nanoparquet", quietly = TRUE)) return(as.data.frame(nanoparquet::read_parquet(file)))
  stop("to read Parquet, install the package arrow or nanoparquet", call. = FALSE)
}

.rr_values <- function(values, column, escaped) {
  if (column$kind == "set") {
    sets <- if (is.list(values)) values else lapply(values, function(text) .rr_parsed(text)$value)
    return(I(lapply(sets, function(set) vapply(as.list(set), function(v)
      if (is.numeric(v) && is.null(attr(v, "text"))) format(v, digits = 17) else .rr_text(v), ""))))
  }
  if (is.factor(values)) values <- as.character(values)
  if (escaped) values <- sub("^'", "", values)
  labels <- vapply(column$labels, .rr_text, "")
  if (!length(labels)) {
    number <- is.character(values) && grepl("^(U?(TINY|SMALL|BIG|HUGE)?INT|INTEGER|UINTEGER|DOUBLE|FLOAT|DECIMAL)", column$type)
    return(if (number) as.numeric(ifelse(values == "", NA, values)) else
      if (is.character(values) && column$type == "BOOLEAN") values == "true" else values)
  }
  numbers <- all(vapply(column$labels, is.numeric, NA)) && !startsWith(column$type, "VARCHAR")
  code <- if (numbers) match(as.numeric(values), as.numeric(unlist(column$labels))) else
    match(if (is.logical(values)) tolower(values) else as.character(values), labels)
  if (anyNA(code)) stop(column$name, " holds values that release.json does not name", call. = FALSE)
  structure(code, levels = labels, class = c(if (column$kind == "interval") "ordered", "factor"))
}

# ---- JSON, and what its digest is taken of ----

# The value of a file, and its canonical text without the key "digest": sorted keys, no spaces.
.rr_json <- function(file) {
  if (!file.exists(file)) stop("no release here: ", file, " is missing", call. = FALSE)
  text <- readChar(file, file.size(file), useBytes = TRUE)
  Encoding(text) <- "UTF-8"
  .rr_parsed(text)
}

.rr_parsed <- function(text) {
  pattern <- "\"(?:[^\"\\\\]++|\\\\.)*+\"|-?[0-9][0-9.eE+-]*+|true|false|null|[][{}:,]"
  tokens <- regmatches(text, gregexpr(pattern, text, perl = TRUE))[[1]]
  at <- 0L
  following <- function() { at <<- at + 1L; tokens[at] }
  read <- function(top = FALSE) {
    token <- following()
    if (is.na(token)) stop("not a JSON document", call. = FALSE)
    if (token == "{") {
      keys <- character(); values <- list(); texts <- character()
      repeat {
        key <- following()
        if (identical(key, "}")) break
        if (identical(key, ",")) next
        if (!identical(following(), ":")) stop("not a JSON document", call. = FALSE)
        part <- read()
        keys <- c(keys, .rr_unquoted(key)); values <- c(values, list(part$value)); texts <- c(texts, part$text)
      }
      names(values) <- keys
      sorted <- function(some) {
        some <- some[order(enc2utf8(keys[some]), method = "radix")]
        paste0("{", paste0(vapply(keys[some], .rr_quoted, ""), rep(":", length(some)), texts[some], collapse = ","), "}")
      }
      whole <- list(value = values, text = sorted(seq_along(keys)))
      if (top) whole$sealed <- sorted(which(keys != "digest"))
      return(whole)
    }
    if (token == "[") {
      values <- list(); texts <- character()
      repeat {
        if (identical(tokens[at + 1L], "]")) { at <<- at + 1L; break }
        if (identical(tokens[at + 1L], ",")) { at <<- at + 1L; next }
        part <- read()
        values <- c(values, list(part$value)); texts <- c(texts, part$text)
      }
      return(list(value = values, text = paste0("[", paste(texts, collapse = ","), "]")))
    }
    if (startsWith(token, "\"")) { plain <- .rr_unquoted(token); return(list(value = plain, text = .rr_quoted(plain))) }
    value <- switch(token, true = TRUE, false = FALSE, null = NULL, structure(as.numeric(token), text = token))
    list(value = value, text = token)
  }
  read(TRUE)
}

.rr_unquoted <- function(token) {
  text <- substr(token, 2L, nchar(token) - 1L)
  if (!grepl("\\", text, fixed = TRUE)) return(text)
  codes <- utf8ToInt(enc2utf8(text)); out <- integer(); i <- 1L
  while (i <= length(codes)) {
    if (codes[i] != 92L) { out <- c(out, codes[i]); i <- i + 1L; next }
    letter <- intToUtf8(codes[i + 1L])
    if (letter == "u") {
      unit <- strtoi(intToUtf8(codes[i + 2:5]), 16L); i <- i + 6L
      if (unit >= 0xD800 && unit < 0xDC00) {
        low <- strtoi(intToUtf8(codes[i + 2:5]), 16L); i <- i + 6L
        unit <- 0x10000 + (unit - 0xD800) * 0x400 + (low - 0xDC00)
      }
      out <- c(out, as.integer(unit))
    } else {
      out <- c(out, utf8ToInt(switch(letter, n = "\n", t = "\t", r = "\r", b = "\b", f = "\f", letter))); i <- i + 2L
    }
  }
  intToUtf8(out)
}

.rr_quoted <- function(text) {
  if (!grepl("[\"\\\\[:cntrl:]]", text)) return(paste0("\"", text, "\""))
  short <- c("\n" = "\\n", "\t" = "\\t", "\r" = "\\r", "\b" = "\\b", "\f" = "\\f", "\"" = "\\\"", "\\" = "\\\\")
  told <- vapply(utf8ToInt(enc2utf8(text)), function(code) {
    letter <- intToUtf8(code)
    if (letter %in% names(short)) short[[letter]] else if (code < 32L) sprintf("\\u%04x", code) else letter
  }, "")
  paste0("\"", paste(told, collapse = ""), "\"")
}

# ---- SHA-256 (FIPS 180-4) ----

.rr_sha256_of <- function(file) {
  if (exists("sha256sum", envir = asNamespace("tools"), inherits = FALSE)) return(unname(tools::sha256sum(file)))
  if (requireNamespace("openssl", quietly = TRUE)) {
    opened <- file(file, "rb")
    on.exit(close(opened))
    return(as.character(openssl::sha256(opened)))
  }
  if (requireNamespace("digest", quietly = TRUE)) return(digest::digest(file = file, algo = "sha256"))
  if (file.size(file) > 2e6) message("checking ", basename(file), " takes about ", round(file.size(file) / 1e5),
                                     " s: R 4.5, or the package openssl or digest, is quicker")
  .rr_sha256(readBin(file, "raw", file.size(file)))
}

# Words of 32 bits as (high, low) halves of 16.
.rr_sha256 <- function(bytes) {
  primes <- c(2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107,
    109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167, 173, 179, 181, 191, 193, 197, 199, 211, 223, 227, 229, 233, 239,
    241, 251, 257, 263, 269, 271, 277, 281, 283, 293, 307, 311)
  halves <- function(x) rbind(as.integer(x %/% 65536), as.integer(x %% 65536))
  # 32 bits of the fractions: square and cube roots have them in a double
  fraction <- function(x) floor((x %% 1) * 2^32)
  K <- halves(fraction(.rr_root(primes, 3))); H <- halves(fraction(.rr_root(primes[1:8], 2)))
  length_bits <- length(bytes) * 8
  bytes <- c(bytes, as.raw(0x80), raw((55 - length(bytes)) %% 64), raw(2),
             as.raw(length_bits %/% 256^(5:0) %% 256))
  blocks <- length(bytes) / 64
  byte <- matrix(as.integer(bytes), 64)
  high <- byte[seq(1, 64, 4), , drop = FALSE] * 256L + byte[seq(2, 64, 4), , drop = FALSE]
  low <- byte[seq(3, 64, 4), , drop = FALSE] * 256L + byte[seq(4, 64, 4), , drop = FALSE]
  two <- as.integer(2^(0:16))
  right <- function(x, n) {                      # (2, m) words turned by n < 16 bits
    x %/% two[n + 1L] + (x[2:1, , drop = FALSE] %% two[n + 1L]) * two[17L - n]
  }
  shift <- function(x, n) rbind(x[1, ] %/% two[n + 1L], x[2, ] %/% two[n + 1L] + (x[1, ] %% two[n + 1L]) * two[17L - n])
  xor <- function(a, b) { a[] <- bitwXor(a, b); a }
  carried <- function(a) rbind((a[1, ] + a[2, ] %/% 65536L) %% 65536L, a[2, ] %% 65536L)
  W <- vector("list", 64)
  for (t in 1:16) W[[t]] <- rbind(high[t, ], low[t, ])
  for (t in 17:64) {
    a <- W[[t - 15]]; b <- W[[t - 2]]
    s0 <- xor(xor(right(a, 7L), right(a[2:1, , drop = FALSE], 2L)), shift(a, 3L))
    s1 <- xor(xor(right(b[2:1, , drop = FALSE], 1L), right(b[2:1, , drop = FALSE], 3L)), shift(b, 10L))
    W[[t]] <- carried(s0 + s1 + W[[t - 7]] + W[[t - 16]])
  }
  W <- vapply(seq_len(64), function(t) W[[t]] + K[, t], matrix(0L, 2, blocks))
  dim(W) <- c(2L, blocks, 64L)
  # e is turned by 6, 11 and 25 bits, a by 2, 13 and 22: the halves of both at once
  D1 <- two[c(7, 7, 3, 3)]; M1 <- two[c(11, 11, 15, 15)]
  D2 <- two[c(12, 12, 14, 14)]; M2 <- two[c(6, 6, 4, 4)]
  D3 <- two[c(10, 10, 7, 7)]; M3 <- two[c(8, 8, 11, 11)]
  added <- function(x) c((x[1L] + x[2L] %/% 65536L) %% 65536L, x[2L] %% 65536L)
  compressed <- function(H, w) {
    a <- H[, 1]; b <- H[, 2]; c <- H[, 3]; d <- H[, 4]; e <- H[, 5]; f <- H[, 6]; g <- H[, 7]; h <- H[, 8]
    for (t in 1:64) {
      x <- base::c(e, a); y <- x[base::c(2L, 1L, 4L, 3L)]
      S <- bitwXor(bitwXor(x %/% D1 + (y %% D1) * M1, x %/% D2 + (y %% D2) * M2), y %/% D3 + (x %% D3) * M3)
      one <- h + S[1:2] + bitwXor(g, bitwAnd(e, bitwXor(f, g))) + w[, t]
      more <- S[3:4] + bitwXor(b, bitwAnd(bitwXor(a, b), bitwXor(b, c)))
      h <- g; g <- f; f <- e; e <- added(d + one); d <- c; c <- b; b <- a; a <- added(one + more)
    }
    cbind(a, b, c, d, e, f, g, h)
  }
  for (i in seq_len(blocks)) H <- carried(H + compressed(H, W[, i, ]))
  tolower(paste0(sprintf("%04x%04x", H[1, ], H[2, ]), collapse = ""))
}

# Roots to the last bit of a double: one step of Newton's method after the power.
.rr_root <- function(x, n) {
  r <- x^(1 / n)
  r - (r^n - x) / (n * r^(n - 1))
}
